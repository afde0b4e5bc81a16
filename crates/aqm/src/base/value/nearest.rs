//! Suggests a known name for a misspelt one ("Did you mean ...?"): the name with the smallest edit distance.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The candidate nearest to `word` (Damerau-Levenshtein distance, case-insensitive), if the distance is at most 1
/// plus a quarter of the longer length, or if the candidate starts with `word`.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let best = candidates.into_iter().map(|c| (distance(word, c), c)).min_by_key(|(d, _)| *d)?;
    let (edits, candidate) = best;
    let near = edits <= 1 + candidate.len().max(word.len()) / 4;
    (near || (!word.is_empty() && candidate.starts_with(word))).then_some(candidate)
}

/// Largest number of accepted names that an error message shows in full.
const MAX_NAMES: usize = 16;
/// Number of names that the message shows if there are more.
const FEW: usize = 5;

/// The accepted names, for an error about `word`: all of up to 16 names, or the number of names and the nearest ones.
pub fn one_of(word: &str, names: &[&str]) -> String {
    if names.len() <= MAX_NAMES {
        return format!("one of {}", names.join(", "));
    }
    let mut near: Vec<&str> = names.to_vec();
    near.sort_by_key(|name| distance(word, name));
    near.truncate(FEW);
    format!("one of {} names, such as {}", names.len(), near.join(", "))
}

fn distance(a: &str, b: &str) -> usize {
    let small = |text: &str| text.chars().map(|c| c.to_ascii_lowercase()).collect::<Vec<char>>();
    let (a, b) = (small(a), small(b));
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = alloc::vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let swap = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + swap);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = core::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn nearest_accepts_typos_and_rejects_distant_words() {
        assert_eq!(nearest("raqn", ["raqm", "red"]), Some("raqm"));
        assert_eq!(nearest("qeuue", ["queue", "rate"]), Some("queue"));
        assert_eq!(
            [nearest("RAQM", ["red", "raqm"]), nearest("Qzero", ["Q0", "q_zero"])],
            [Some("raqm"), Some("q_zero")]
        );
        assert_eq!(nearest("droptial", ["droptail"]), Some("droptail"));
        assert_eq!(nearest("nonsense", ["raqm", "red", "codel"]), None);
        assert_eq!(nearest("", ["pi"]), None);
    }
}
