//! Finds the links in Markdown text.

/// `text` with each link to a file replaced by `to`; if that is `None`, by the words of the link.
pub(crate) fn map(text: &str, to: impl Fn(&str) -> Option<String>) -> String {
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (link, rest) = part.split_once(')').unwrap_or((part, ""));
        let is_file = !link.is_empty() && !link.starts_with('#') && !link.contains(':');
        match if is_file { to(link) } else { Some(link.to_string()) } {
            Some(link) => out.push_str(&format!("]({link})")),
            None => drop(out.rfind('[').map(|at| out.remove(at))),
        }
        out.push_str(rest);
    }
    out
}

/// `link` relative to `folder`.
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
