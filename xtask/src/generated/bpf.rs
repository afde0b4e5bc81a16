//! The BPF program of `forebay attach`: compiles it, and checks that the committed object belongs to its source.
//!
//! Users need no clang: the object is in the repository. Other versions of clang generate other instructions, so the
//! check needs this version.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::program;

const FOLDER: &str = "crates/live/bpf";
const SOURCE: &str = "aqm.bpf.c";
const OBJECT: &str = "aqm.bpf.o";
const CLANG: &str = "14";
pub(crate) fn run() -> Result<(), String> {
    let object = Path::new(FOLDER).join(OBJECT);
    compile(&tools()?, &program::root().join(&object))?;
    println!("{}: compiled by clang {CLANG}", object.display());
    Ok(())
}

struct Tools {
    clang: PathBuf,
    strip: PathBuf,
    /// For the test that compares objects.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests alone compare"))]
    objdump: PathBuf,
}

/// The tools of this version, or what is missing.
fn tools() -> Result<Tools, String> {
    let find = |name: &str, package: &str| {
        let found = program::find(&[&format!("{name}-{CLANG}"), name]).filter(|file| is_version(file));
        found.ok_or_else(|| format!("{name} {CLANG} is not installed: apt-get install {package}"))
    };
    let tools = Tools {
        clang: find("clang", "clang-14")?,
        strip: find("llvm-strip", "llvm-14")?,
        objdump: find("llvm-objdump", "llvm-14")?,
    };
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

/// The folder of the C headers of libbpf.
fn headers() -> Option<&'static str> {
    ["/usr/include", "/usr/local/include"]
        .into_iter()
        .find(|folder| Path::new(folder).join("bpf/bpf_helpers.h").is_file())
}

fn compile(tools: &Tools, object: &Path) -> Result<(), String> {
    let mut clang = Command::new(&tools.clang);
    // Compiled in its own folder, because names of folders become part of the object.
    clang.current_dir(program::root().join(FOLDER));
    clang.args(["-O2", "-g", "-target", "bpf", "-mcpu=v2", "-Wall", "-Werror", "-ffile-compilation-dir=."]);
    clang.args(["-c", SOURCE, "-o"]);
    clang.arg(object).args(headers().map(|folder| format!("-I{folder}")));
    // Debian has separate kernel headers for each architecture.
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

    /// The sections that define the program: instructions, their relocations, maps, types, CO-RE relocations, licence.
    const SECTIONS: [&str; 6] = ["classifier", ".relclassifier", ".maps", ".BTF", ".BTF.ext", "license"];

    /// objdump's output for these sections. Other bytes depend on the build of the compiler.
    fn sections(tools: &Tools, object: &Path) -> String {
        let mut objdump = Command::new(&tools.objdump);
        objdump.arg("-s").args(SECTIONS.map(|name| format!("--section={name}"))).arg(object);
        // The first lines name the file.
        program::said(objdump)
            .unwrap()
            .lines()
            .skip_while(|line| !line.starts_with("Contents"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn committed_bpf_object_matches_its_compiled_source() {
        let tools = match tools() {
            Ok(tools) => tools,
            Err(lacking) => return super::skips::skip(lacking),
        };
        let scratch = program::scratch("bpf").unwrap();
        let made = scratch.join(OBJECT);
        compile(&tools, &made).unwrap();
        let committed = program::root().join(FOLDER).join(OBJECT);
        let (now, before) = (sections(&tools, &made), sections(&tools, &committed));
        assert!(SECTIONS.iter().all(|name| before.contains(&format!("Contents of section {name}:"))), "{before}");
        assert!(now == before, "{OBJECT} is not what {SOURCE} makes: run cargo xtask bpf");
        // A changed instruction is found.
        let mut bytes = std::fs::read(&committed).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&made, bytes).unwrap();
        assert_ne!(sections(&tools, &made), before);
        std::fs::remove_dir_all(scratch).unwrap();
    }
}
