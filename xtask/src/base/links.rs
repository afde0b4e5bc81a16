//! Links of Markdown.

/// `text` with each link to a file as `to` has it.
pub(crate) fn map(text: &str, to: impl Fn(&str) -> String) -> String {
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (link, rest) = part.split_once(')').unwrap_or((part, ""));
        let is_file = !link.is_empty() && !link.starts_with('#') && !link.contains(':');
        let link = if is_file { to(link) } else { link.to_string() };
        out.push_str(&format!("]({link})"));
        out.push_str(rest);
    }
    out
}

/// `link` as seen from `folder`.
pub(crate) fn join(folder: &str, link: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}
