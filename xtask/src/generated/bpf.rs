//! The BPF program of `forebay attach`: compiled from its source, and whether the object in the repository is that.
//!
//! Users need no clang: the object is in the repository. Another version of clang makes other instructions, so only this
//! one says whether both belong together.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::program;

const FOLDER: &str = "crates/live/bpf";
const SOURCE: &str = "aqm.bpf.c";
const OBJECT: &str = "aqm.bpf.o";
/// The compiler's version.
const CLANG: &str = "14";
/// Compiles the program into the repository.
pub(crate) fn run() -> Result<(), String> {
    let object = Path::new(FOLDER).join(OBJECT);
    compile(&tools()?, &program::root().join(&object))?;
    println!("{}: compiled by clang {CLANG}", object.display());
    Ok(())
}

/// Compiler and stripper.
struct Tools {
    clang: PathBuf,
    strip: PathBuf,
}

/// Those of the one version, or what is lacking.
fn tools() -> Result<Tools, String> {
    let find = |name: &str, package: &str| {
        let found = program::find(&[&format!("{name}-{CLANG}"), name]).filter(|file| is_version(file));
        found.ok_or_else(|| format!("{name} {CLANG} is not installed: apt-get install {package}"))
    };
    let tools = Tools { clang: find("clang", "clang-14")?, strip: find("llvm-strip", "llvm-14")? };
    if headers().is_none() {
        return Err("the headers of libbpf are not installed: apt-get install libbpf-dev".to_string());
    }
    Ok(tools)
}

fn is_version(file: &Path) -> bool {
    let mut command = Command::new(file);
    command.arg("--version");
    program::said(command).is_ok_and(|text| text.contains(&format!("version {CLANG}.")))
}

/// The folder of libbpf's headers.
fn headers() -> Option<&'static str> {
    ["/usr/include", "/usr/local/include"]
        .into_iter()
        .find(|folder| Path::new(folder).join("bpf/bpf_helpers.h").is_file())
}

fn compile(tools: &Tools, object: &Path) -> Result<(), String> {
    let mut clang = Command::new(&tools.clang);
    // From its own folder: the names of places would be part of the object.
    clang.current_dir(program::root().join(FOLDER));
    clang.args(["-O2", "-g", "-target", "bpf", "-mcpu=v2", "-Wall", "-Werror", "-ffile-compilation-dir=."]);
    clang.args(["-c", SOURCE, "-o"]);
    clang.arg(object).args(headers().map(|folder| format!("-I{folder}")));
    // Debian keeps the kernel's headers of each architecture apart.
    clang.arg(format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH));
    program::shown(clang)?;
    let mut strip = Command::new(&tools.strip);
    strip.arg("-g").arg(object);
    program::shown(strip)
}

#[cfg(test)]
#[path = "../../../crates/cli/tests/skips/mod.rs"]
mod skips;

#[cfg(test)]
mod tests {
    use super::*;

    /// What makes a program of an object: instructions, which of them name a map, maps, types, where fields of the kernel are
    /// read, licence.
    const SECTIONS: [&str; 6] = ["classifier", ".relclassifier", ".maps", ".BTF", ".BTF.ext", "license"];

    /// The bytes of a section of a 64-bit little-endian object.
    fn section<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let number = |at: usize, len: usize| {
            let bytes = object.get(at..at + len)?;
            Some(bytes.iter().rev().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte)))
        };
        let (table, size, count, names) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?, number(0x3e, 2)?);
        let place = |index: usize| {
            let at = table + index * size;
            Some((number(at, 4)?, number(at + 0x18, 8)?, number(at + 0x20, 8)?))
        };
        let (_, names, _) = place(names)?;
        (0..count).filter_map(place).find_map(|(text, at, len)| {
            let text = object.get(names + text..)?.split(|byte| *byte == 0).next()?;
            (text == name.as_bytes()).then(|| object.get(at..at + len))?
        })
    }

    fn committed() -> Vec<u8> {
        std::fs::read(program::root().join(FOLDER).join(OBJECT)).unwrap()
    }

    #[test]
    fn the_object_is_that_of_its_source() {
        let tools = match tools() {
            Ok(tools) => tools,
            Err(lacking) => return super::skips::skip(lacking),
        };
        let scratch = program::scratch("bpf").unwrap();
        let made = scratch.join(OBJECT);
        compile(&tools, &made).unwrap();
        let (made, committed) = (std::fs::read(made).unwrap(), committed());
        for name in SECTIONS {
            let (made, committed) = (section(&made, name), section(&committed, name));
            assert!(made.is_some_and(|bytes| !bytes.is_empty()), "{name} is empty");
            assert!(made == committed, "{OBJECT} is not what {SOURCE} makes ({name}): run cargo xtask bpf");
        }
        std::fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn a_changed_instruction_is_seen() {
        let object = committed();
        let code = section(&object, "classifier").unwrap();
        assert!(code.len().is_multiple_of(8) && code.len() > 400);
        let at = object.windows(code.len()).position(|bytes| bytes == code).unwrap();
        let mut other = object.clone();
        other[at + 4] ^= 1;
        assert_ne!(section(&other, "classifier"), Some(code));
        assert_eq!(section(&object, "license"), Some(&b"Dual MIT/GPL\0"[..]));
        assert_eq!(section(&object, "no such section"), None);
        assert_eq!(section(&object[..100], "classifier"), None);
    }
}
