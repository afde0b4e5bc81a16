//! The system calls of a process as strace(1) prints them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Call {
    /// Its name, such as `openat`.
    pub(super) name: String,
    /// Number of calls of this name in its thread until then, itself included.
    pub(super) number: usize,
    /// Its arguments as text.
    pub(super) arguments: String,
    /// What it returned, as text: a number, a descriptor with its path, or an error.
    pub(super) result: String,
}

impl Call {
    /// The strings among the arguments, decoded.
    pub(super) fn strings(&self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        let mut rest = self.arguments.as_str();
        while let Some(begin) = rest.find('"') {
            let (text, after) = quoted(&rest[begin + 1..]);
            all.push(text);
            rest = after;
        }
        all
    }

    /// The path of the descriptor that is the first argument: `3</path>`.
    pub(super) fn descriptor(&self) -> Option<PathBuf> {
        path_of(&self.arguments)
    }

    /// Whether it succeeded.
    pub(super) fn is_done(&self) -> bool {
        !self.result.starts_with('-') && !self.result.starts_with('?')
    }
}

/// The path in `3</path>...`, decoded.
pub(super) fn path_of(text: &str) -> Option<PathBuf> {
    let (number, rest) = text.split_once('<')?;
    let path = rest.split('>').next().filter(|_| number.bytes().all(|digit| digit.is_ascii_digit()))?;
    Some(PathBuf::from(OsString::from_vec(quoted(path).0)))
}

/// The text until the closing quotation mark, decoded, and what follows.
fn quoted(text: &str) -> (Vec<u8>, &str) {
    let mut bytes = Vec::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (bytes, &text[at + 1..]),
            '\\' => match letters.next() {
                Some((at, 'x')) => {
                    bytes.push(u8::from_str_radix(&text[at + 1..at + 3], 16).unwrap());
                    letters.nth(1);
                }
                Some((_, 'n')) => bytes.push(b'\n'),
                Some((_, other)) => bytes.extend(other.to_string().into_bytes()),
                None => break,
            },
            other => bytes.extend(other.to_string().into_bytes()),
        }
    }
    (bytes, "")
}

/// Reads the calls in the order in which they began. strace prints a call in two lines if a call of another thread comes in
/// between; they are joined.
pub(super) fn calls(log: &str) -> Vec<Call> {
    let mut numbers = BTreeMap::new();
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    let mut all: Vec<Call> = Vec::new();
    let ended = |text: &str| {
        let (arguments, result) = text.rsplit_once(") = ").or_else(|| text.rsplit_once(" = ")).unwrap_or((text, "?"));
        (arguments.trim_end().trim_end_matches(')').to_string(), result.to_string())
    };
    for line in log.lines() {
        let Some((thread, text)) = line.split_once(' ') else { continue };
        let text = text.trim_start();
        if let Some(rest) = text.strip_prefix("<... ") {
            if let Some(call) = open.remove(thread)
                && let Some((_, rest)) = rest.split_once(" resumed>")
            {
                let (more, result) = ended(rest);
                all[call].arguments += &more;
                all[call].result = result;
            }
            continue;
        }
        let Some((name, rest)) = text.split_once('(').filter(|(name, _)| name.bytes().all(is_word)) else { continue };
        let number = numbers.entry((thread.to_string(), name.to_string())).or_insert(0);
        *number += 1;
        let (arguments, result) = match rest.strip_suffix(" <unfinished ...>") {
            Some(part) => {
                open.insert(thread.to_string(), all.len());
                (part.to_string(), "?".to_string())
            }
            None => ended(rest),
        };
        all.push(Call { name: name.to_string(), number: *number, arguments, result });
    }
    all
}

fn is_word(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || letter == b'_'
}

#[test]
fn calls_of_strace_are_read() {
    let log = "7 openat(AT_FDCWD</x>, \"out/a\", O_RDONLY) = 3</x/out/a>\n\
               8 write(4</x>, \"\\x61\\\"\\n\", 3 <unfinished ...>\n\
               7 openat(AT_FDCWD</x>, \"b\", 0) = -1 ENOENT (No such file)\n\
               8 <... write resumed>) = 3\n\
               7 +++ exited with 0 +++\n";
    let calls = calls(log);
    let of = |n: usize| (calls[n].name.as_str(), calls[n].number, calls[n].is_done());
    assert_eq!([of(0), of(1), of(2)], [("openat", 1, true), ("write", 1, true), ("openat", 2, false)]);
    assert_eq!(calls[1].strings(), [b"a\"\n"]);
    let paths = [calls[1].descriptor(), path_of(&calls[0].result), path_of("5<\\x2f\\x78>")];
    assert_eq!(paths, ["/x", "/x/out/a", "/x"].map(|path| Some(PathBuf::from(path))));
    assert_eq!(calls.len(), 3);
}
