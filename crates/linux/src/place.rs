//! Where the built kernel is, and what is missing if it is not there.

use std::fs;
use std::path::{Path, PathBuf};

/// The environment variable with the folder of a built kernel.
pub const FOLDER: &str = "FOREBAY_LINUX";
/// The command that builds it.
pub const REMEDY: &str = "cargo xtask linux builds it, in a checkout; on Debian it needs: apt-get install linux-source-6.12 flex bison bc \
     xz-utils gcc make";
/// What the line of `built.txt` begins with that has the checksum of the sources in the checkout.
pub(crate) const SOURCES: &str = "checkout ";
/// Name of the folder below the target folder.
pub const CACHE: &str = "linux";

/// A built kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// The kernel, a program.
    pub program: PathBuf,
    /// The agent, its first process.
    pub agent: PathBuf,
    /// What it was built from: a line for each part, with its checksum.
    pub sources: String,
}

impl Kernel {
    /// The kernel in the folder that [`FOLDER`] names, else in the target folder of this program.
    ///
    /// # Errors
    /// There is none: the text says where it was looked for. Or it was built from other sources than those of the
    /// checkout that this program was built in; without a checkout this is not known.
    pub fn find() -> Result<Self, String> {
        let found = Self::any()?;
        let root = crate::build::sources::checkout();
        match root.and_then(|root| crate::build::sources::identity(&root).ok()) {
            Some(sources) if !found.is_of(&sources) => {
                Err("the kernel of run --on linux was built from an older state of this checkout".to_string())
            }
            _ => Ok(found),
        }
    }

    /// Whether it was built from the sources with this checksum.
    fn is_of(&self, sources: &str) -> bool {
        self.sources.lines().any(|line| line.strip_prefix(SOURCES) == Some(sources))
    }

    fn any() -> Result<Self, String> {
        // The guest starts in another folder.
        let absolute = |folder| std::path::absolute(&folder).unwrap_or(folder);
        let named = std::env::var_os(FOLDER).filter(|name| !name.is_empty()).map(|name| absolute(PathBuf::from(name)));
        let is_named = named.is_some();
        let program = std::env::current_exe().unwrap_or_default();
        let own = program.ancestors().skip(1).take(4).map(|folder| folder.join(CACHE));
        let mut places = named.map_or_else(|| own.collect(), |named| vec![named]).into_iter();
        let first = places.clone().next();
        places.find_map(|folder| Self::at(&folder)).ok_or_else(|| match first {
            Some(first) if is_named => {
                format!("no kernel in {}, which {FOLDER} names", first.display())
            }
            _ => "the kernel of run --on linux is not built".to_string(),
        })
    }

    /// The kernel in this folder, if it is complete.
    pub fn at(folder: &Path) -> Option<Self> {
        let sources = fs::read_to_string(folder.join("built.txt")).ok()?;
        let (program, agent) = (folder.join("kernel"), folder.join("agent"));
        (program.is_file() && agent.is_file()).then_some(Self { program, agent, sources })
    }

    /// The folder that it is in.
    pub fn folder(&self) -> &Path {
        self.program.parent().unwrap_or(Path::new("."))
    }

    /// The description of the kernel's types (BTF), for a loader of BPF programs; `None` if the compiler that built
    /// the kernel writes none.
    pub fn types(&self) -> Option<Vec<u8>> {
        fs::read(self.folder().join("types")).ok().filter(|types| !types.is_empty())
    }

    /// The version of the kernel.
    pub fn version(&self) -> &str {
        self.sources.lines().find_map(|line| line.strip_prefix("version ")).unwrap_or("unknown")
    }
}

/// What a run needs of this machine besides the kernel.
///
/// # Errors
/// The system is not Linux on x86-64.
pub fn machine() -> Result<(), String> {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        Ok(())
    } else {
        Err(format!("it needs Linux on x86-64, this is {} on {}", std::env::consts::OS, std::env::consts::ARCH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_of_other_sources_is_recognised() {
        let kernel = |sources: &str| Kernel { sources: sources.into(), ..Kernel::default() };
        assert!(kernel("version 6.12\ncheckout abc\n").is_of("abc"));
        assert!(!kernel("version 6.12\ncheckout abcd\n").is_of("abc"));
        assert!(!kernel("version 6.12\n").is_of("abc"), "built before the line existed");
    }
}
