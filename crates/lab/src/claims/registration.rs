//! Registration of claims: hashes of the files of a suite, made before its runs, so that later changes are visible.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// File of the registration in the folder of a suite.
pub const FILE: &str = "registration.json";

/// The content of `registration.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Format version, 1.
    pub version: u32,
    /// Version of Forebay.
    pub forebay: String,
    /// When the claims were registered, in UTC: `2026-11-30T09:45:00Z`.
    pub registered: String,
    /// SHA-256 of the output of `sha256sum` for `files`. This is the hash to publish.
    pub sha256: String,
    /// The files of the suite, by name.
    pub files: Vec<Hashed>,
}

/// A file and its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hashed {
    /// Its name.
    pub file: String,
    /// The hash, in hexadecimal digits.
    pub sha256: String,
}

/// What results record about the registration of their claims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// When the claims were registered, in UTC.
    pub at: String,
    /// The hash of the registration.
    pub sha256: String,
    /// Files that were changed, added or removed after the registration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

impl Registered {
    /// For people: when, the hash, and what changed.
    pub fn text(&self) -> String {
        let changed = match self.changed.as_slice() {
            [] => "not changed since".to_string(),
            changed => format!("changed since: {}", changed.join(", ")),
        };
        format!("registered {}, {changed} (SHA-256 {})", self.at, self.sha256)
    }
}

fn hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Registration {
    /// Registers files, given by name and text, at this time.
    pub fn new(files: &[(String, String)], at: String) -> Self {
        let mut files: Vec<Hashed> =
            files.iter().map(|(file, text)| Hashed { file: file.clone(), sha256: hash(text) }).collect();
        files.sort_by(|a, b| a.file.cmp(&b.file));
        let lines: String = files.iter().map(|one| format!("{}  {}\n", one.sha256, one.file)).collect();
        let forebay = env!("CARGO_PKG_VERSION").to_string();
        Self { version: 1, forebay, registered: at, sha256: hash(&lines), files }
    }

    /// Whether its hash is that of its list of files.
    pub fn is_sound(&self) -> bool {
        let lines: String = self.files.iter().map(|one| format!("{}  {}\n", one.sha256, one.file)).collect();
        self.sha256 == hash(&lines)
    }

    /// What results with these files record.
    pub fn of(&self, files: &[(String, String)]) -> Registered {
        let now = Self::new(files, String::new());
        let other = |all: &[Hashed], one: &Hashed| !all.contains(one);
        let new = now.files.iter().filter(|one| other(&self.files, one));
        let gone = self.files.iter().filter(|one| other(&now.files, one));
        let mut changed: Vec<String> = new.chain(gone).map(|one| one.file.clone()).collect();
        changed.sort();
        changed.dedup();
        Registered { at: self.registered.clone(), sha256: self.sha256.clone(), changed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(claims: &str) -> Vec<(String, String)> {
        [("few.toml", "version = 1\n"), ("claims.toml", claims)].map(|(a, b)| (a.to_string(), b.to_string())).to_vec()
    }

    /// printf 'a\n' > claims.toml; printf 'version = 1\n' > few.toml; sha256sum claims.toml few.toml | sha256sum
    #[test]
    fn hash_is_that_of_sha256sum() {
        let made = Registration::new(&files("a\n"), String::new());
        assert_eq!(made.sha256, "f88c6b44878a247b859cdfc81e0fe46a6c71a416edd4d0e1357f1c87483966e7");
        assert!(made.is_sound());
    }

    #[test]
    fn changed_added_and_removed_files_are_named() {
        let made = Registration::new(&files("a"), "2026-11-30T09:45:00Z".to_string());
        assert_eq!(made.of(&files("a")).changed, Vec::<String>::new());
        let mut others = files("b");
        others[0].0 = "many.toml".to_string();
        let registered = made.of(&others);
        assert_eq!(registered.changed, ["claims.toml", "few.toml", "many.toml"]);
        assert!(registered.text().contains("changed since: claims.toml, few.toml, many.toml"));
        let forged = Registration { files: Vec::new(), ..made };
        assert!(!forged.is_sound());
    }
}
