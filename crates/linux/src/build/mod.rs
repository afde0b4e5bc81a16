//! Builds the kernel: from a distribution's source package, with the qdisc of `crates/qdisc` and the disciplines.
//!
//! The source tree is unpacked, changed, configured and built in a folder below the target folder. Its name depends on
//! the source, the configuration and the changes. A change of the disciplines, the qdisc or the agent only links again.
//! A file next to the kernel has the checksums of everything that it was built from.

mod edits;
pub mod sources;
mod tools;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use edits::EDITS;
use tools::{checksum, checksum_of, missing, run, write_changed};

/// The environment variable with another source: a tree of kernel sources, or an archive of one.
pub const SOURCE: &str = "FOREBAY_LINUX_SOURCE";
/// Archives of distributions' packages, best first.
const PACKAGES: [&str; 2] = ["/usr/src/linux-source-6.12.tar.xz", "/usr/src/linux-source-6.12.tar.bz2"];
/// The folder of the C files.
const QDISC: &str = "crates/qdisc/kernel";
const FRAGMENT: &str = include_str!("../../kernel/fragment.config");
/// Folders of the source, nine tenths of it, that are unpacked without their code. What describes the configuration must
/// be complete.
const UNUSED: [&str; 19] = [
    "Documentation",
    "sound",
    "samples",
    "rust",
    "tools/perf",
    "tools/testing",
    "arch/arm",
    "arch/arm64",
    "arch/powerpc",
    "arch/mips",
    "drivers/gpu",
    "drivers/net/ethernet",
    "drivers/net/wireless",
    "drivers/media",
    "drivers/scsi",
    "drivers/clk",
    "drivers/usb",
    "drivers/staging",
    "drivers/infiniband",
];
/// Extensions of files with code.
const CODE: [&str; 3] = ["c", "h", "S"];
/// Extensions of devicetrees, texts and tables, which are not unpacked. Each pattern costs tar time for each file.
const UNUSED_FILES: [&str; 5] = ["dts", "dtsi", "rst", "json", "yaml"];
/// Functions of the discipline crate that the qdisc calls.
const EXPORTS: [&str; 12] = [
    "new",
    "retune",
    "end",
    "advance",
    "arrive",
    "dropped",
    "depart",
    "held",
    "probes",
    "stream",
    "draw",
    "stream_end",
];
const MUSL: &str = "x86_64-unknown-linux-musl";
const GNU: &str = "x86_64-unknown-linux-gnu";

/// Why nothing was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// The machine lacks something: the text says what, and what would bring it.
    Missing(String),
    /// A step failed.
    Failed(String),
}

impl From<String> for BuildError {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Where things are.
struct Places {
    /// The checkout of this repository.
    root: PathBuf,
    /// The target folder of cargo.
    target: PathBuf,
    /// The folder of the built kernel.
    out: PathBuf,
}

/// Builds the kernel from the checkout `root` into the target folder `target`. `say` reports the steps. Returns the
/// folder of the kernel.
///
/// # Errors
/// The machine lacks something, or a step fails.
pub fn build(root: &Path, target: &Path, say: &dyn Fn(&str)) -> Result<PathBuf, BuildError> {
    let source = source()?;
    let packages = missing();
    if !packages.is_empty() {
        return Err(BuildError::Missing(format!("missing: apt-get install {}", packages.join(" "))));
    }
    let out = target.join(crate::place::CACHE);
    let places = Places { root: root.to_path_buf(), target: target.to_path_buf(), out };
    make_folder(&places.out)?;
    // Before it is built: a change meanwhile makes the kernel older than the sources.
    let sources = sources::identity(root).map_err(|error| format!("cannot read the sources: {error}"))?;
    let (tree, identity) = places.tree(&source, say)?;
    let discipline = places.discipline(say)?;
    let qdisc = places.qdisc(&tree)?;
    write_changed(&tree.join("net/sched/forebay_discipline.o_shipped"), &discipline)?;
    say("building the kernel; the first time this takes some minutes");
    make(&tree, &["linux"])?;
    let agent = places.agent(say)?;
    let version = run(&tree, &["make", "-s", "ARCH=um", "kernelversion"])?;
    let parts = [
        format!("version {}", version.trim()),
        identity,
        format!("{}{sources}", crate::place::SOURCES),
        format!("qdisc {}", checksum(&qdisc)),
        format!("disciplines {}", checksum(&discipline)),
        format!("agent {}", checksum(&agent)),
        format!("compiler {}", run(&tree, &["gcc", "--version"])?.lines().next().unwrap_or_default()),
    ];
    let types = places.types(&tree)?;
    places.install(&tree.join("linux"), &agent, &types, &(parts.join("\n") + "\n"))?;
    Ok(places.out)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn make_folder(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|error| format!("cannot create {}: {error}", path.display()))
}

/// The source: a tree or an archive.
fn source() -> Result<PathBuf, BuildError> {
    if let Some(named) = std::env::var_os(SOURCE).map(PathBuf::from) {
        let found = named.exists();
        let missing = || BuildError::Missing(format!("{SOURCE} names {}, which does not exist", named.display()));
        return if found { Ok(named) } else { Err(missing()) };
    }
    let found = PACKAGES.iter().map(PathBuf::from).find(|path| path.is_file());
    found.ok_or_else(|| {
        BuildError::Missing(format!(
            "no kernel source: apt-get install linux-source-6.12, or set {SOURCE} to a tree of kernel sources"
        ))
    })
}

/// What `uname -v` and `/proc/version` show. Constant, because the kernel mixes the former into its random numbers.
const BUILD_NAMES: [&str; 4] = [
    "KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_VERSION=1",
    "KBUILD_BUILD_USER=forebay",
    "KBUILD_BUILD_HOST=forebay",
];

fn make(tree: &Path, targets: &[&str]) -> Result<(), String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = format!("-j{cores}");
    let words: Vec<&str> =
        ["make", "-s", "ARCH=um", &jobs].into_iter().chain(BUILD_NAMES).chain(targets.iter().copied()).collect();
    run(tree, &words).map(drop)
}

impl Places {
    /// The unpacked, changed and configured source, and its identity.
    fn tree(&self, source: &Path, say: &dyn Fn(&str)) -> Result<(PathBuf, String), String> {
        let sum = if source.is_dir() {
            // A tree may be large: its version and place stand for it.
            checksum(&[read(&source.join("Makefile"))?, source.as_os_str().as_encoded_bytes().to_vec()].concat())
        } else {
            checksum_of(source)?
        };
        let changes: Vec<String> = EDITS.iter().map(|edit| [edit.file, edit.from, edit.to].join("\n")).collect();
        let changes = checksum(changes.join("\n").as_bytes());
        let identity = format!("source {sum}\nconfiguration {}\nchanges {changes}", checksum(FRAGMENT.as_bytes()));
        let tree = self.out.join(format!("tree-{}", &checksum(identity.as_bytes())[..12]));
        let ready = tree.join("forebay-ready");
        if ready.is_file() {
            return Ok((tree, identity));
        }
        self.remove_trees()?;
        say(&format!("unpacking {}", source.display()));
        make_folder(&tree)?;
        unpack(source, &tree)?;
        for edit in EDITS {
            change(&tree, edit)?;
        }
        // Both belong to the list of objects, so that the configuration can be made before they are.
        make(&tree, &["tinyconfig"])?;
        fs::write(tree.join("forebay.config"), FRAGMENT).map_err(|error| format!("cannot write: {error}"))?;
        run(&tree, &["scripts/kconfig/merge_config.sh", "-m", ".config", "forebay.config"])?;
        make(&tree, &["olddefconfig"])?;
        check_configuration(&String::from_utf8_lossy(&read(&tree.join(".config"))?))?;
        fs::write(&ready, &identity).map_err(|error| format!("cannot write: {error}"))?;
        Ok((tree, identity))
    }

    /// Puts the C files of the qdisc into the tree. Returns their content.
    fn qdisc(&self, tree: &Path) -> Result<Vec<u8>, String> {
        let own = self.root.join(QDISC);
        let failed = |error: std::io::Error| format!("cannot read {}: {error}", own.display());
        let entries = fs::read_dir(&own).map_err(failed)?;
        let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
        files.sort();
        let mut all = Vec::new();
        for file in files {
            let content = read(&file)?;
            write_changed(&tree.join("net/sched").join(file.file_name().unwrap_or_default()), &content)?;
            all.extend(content);
        }
        Ok(all)
    }

    /// The description of the kernel's types; empty if the compiler cannot write one.
    fn types(&self, tree: &Path) -> Result<Vec<u8>, String> {
        let types = self.out.join("types.new");
        let object = tree.join("net/sched/forebay_types.o");
        let section = format!(".BTF={}", types.display());
        let words: [OsString; 5] =
            ["objcopy".into(), "--dump-section".into(), section.into(), object.into(), "/dev/null".into()];
        // It fails if there is no such section.
        let _ = run(&self.out, &words);
        let bytes = fs::read(&types).unwrap_or_default();
        let _ = fs::remove_file(&types);
        Ok(bytes)
    }

    /// Removes trees of earlier sources or configurations: each takes 2 GB.
    fn remove_trees(&self) -> Result<(), String> {
        let entries = fs::read_dir(&self.out).map_err(|error| format!("cannot read the cache: {error}"))?;
        for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("tree-")) {
            fs::remove_dir_all(entry.path()).map_err(|error| format!("cannot remove an old tree: {error}"))?;
        }
        Ok(())
    }

    fn cargo(&self, words: &[&str]) -> Result<(), String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let target: OsString = self.target.clone().into();
        let words: Vec<OsString> = [cargo].into_iter().chain(words.iter().map(OsString::from)).collect();
        let (subcommand, rest) = words[1..].split_first().ok_or("no command")?;
        let own = ["--quiet".into(), "--release".into(), "--target-dir".into(), target];
        let all: Vec<OsString> =
            [words[0].clone(), subcommand.clone()].into_iter().chain(own).chain(rest.iter().cloned()).collect();
        run(&self.root, &all).map(drop)
    }

    /// The disciplines as one object.
    fn discipline(&self, say: &dyn Fn(&str)) -> Result<Vec<u8>, String> {
        say("compiling the disciplines");
        let library = ["-p", "forebay-qdisc", "--features", "kernel", "--crate-type", "staticlib"];
        let static_code = ["--", "-C", "relocation-model=static"];
        self.cargo(&[&["rustc"], &library[..], &static_code[..]].concat())?;
        let (archive, object) = (self.target.join("release/libforebay_qdisc.a"), self.out.join("discipline.o"));
        let mut link: Vec<OsString> = ["ld", "-r", "--gc-sections", "-e", "forebay_new"].map(Into::into).to_vec();
        link.extend(EXPORTS.iter().flat_map(|name| ["-u".into(), format!("forebay_{name}").into()]));
        link.extend([archive.into(), "-o".into(), object.clone().into()]);
        run(&self.out, &link)?;
        // Without the compiler's intermediate code, and without debug information, which has paths.
        let strip = ["objcopy", "--strip-debug", "-R", ".llvmbc", "-R", ".llvmcmd"].map(OsString::from);
        run(&self.out, &[&strip[..], &[object.clone().into()]].concat())?;
        read(&object)
    }

    /// The agent, a static program.
    fn agent(&self, say: &dyn Fn(&str)) -> Result<Vec<u8>, String> {
        say("compiling the agent");
        let sysroot = run(&self.root, &["rustc", "--print", "sysroot"])?;
        let has_musl = Path::new(sysroot.trim()).join("lib/rustlib").join(MUSL).is_dir();
        let target = if has_musl { MUSL } else { GNU };
        let static_code: &[&str] = if has_musl { &[] } else { &["--", "-C", "target-feature=+crt-static"] };
        self.cargo(
            &[&["rustc", "-p", "forebay-agent", "--bin", "forebay-agent", "--target", target], static_code].concat(),
        )?;
        let built = self.target.join(target).join("release/forebay-agent");
        let stripped = self.out.join("agent.new");
        run(&self.out, &[OsString::from("objcopy"), "--strip-all".into(), built.into(), stripped.clone().into()])?;
        let bytes = read(&stripped)?;
        fs::remove_file(&stripped).map_err(|error| format!("cannot remove a file: {error}"))?;
        Ok(bytes)
    }

    /// Puts the kernel in its place. The list of its parts comes last: a run never finds half a kernel.
    fn install(&self, kernel: &Path, agent: &[u8], types: &[u8], parts: &str) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("cannot write to {}: {error}", self.out.display());
        let list = self.out.join("built.txt");
        let stripped = self.out.join("kernel.new");
        run(&self.out, &[OsString::from("objcopy"), "--strip-all".into(), kernel.into(), stripped.clone().into()])?;
        let _ = fs::remove_file(&list);
        fs::rename(&stripped, self.out.join("kernel")).map_err(failed)?;
        fs::write(self.out.join("agent.new"), agent).map_err(failed)?;
        fs::rename(self.out.join("agent.new"), self.out.join("agent")).map_err(failed)?;
        fs::write(self.out.join("types"), types).map_err(failed)?;
        fs::write(self.out.join("built.new"), parts).map_err(failed)?;
        fs::rename(self.out.join("built.new"), list).map_err(failed)
    }
}

fn unpack(source: &Path, tree: &Path) -> Result<(), String> {
    let mut words: Vec<OsString> = if source.is_dir() {
        vec!["cp".into(), "-a".into(), source.join(".").into(), tree.into()]
    } else {
        vec!["tar".into(), "xf".into(), source.into(), "--strip-components=1".into(), "-C".into(), tree.into()]
    };
    if !source.is_dir() {
        let code = |folder: &&str| CODE.map(|kind| format!("--exclude=*/{folder}/*.{kind}").into());
        words.extend(UNUSED.iter().flat_map(code));
        words.extend(UNUSED_FILES.map(|kind| format!("--exclude=*.{kind}").into()));
    }
    run(tree, &words).map(drop)
}

fn change(tree: &Path, edit: &edits::Edit) -> Result<(), String> {
    let path = tree.join(edit.file);
    let text = String::from_utf8_lossy(&read(&path)?).into_owned();
    match text.matches(edit.from).count() {
        1 => fs::write(&path, text.replacen(edit.from, edit.to, 1)).map_err(|error| format!("cannot write: {error}")),
        _ if !edit.needed => Ok(()),
        count => Err(format!("this kernel's {} differs: '{}' occurs {count} times", edit.file, edit.from)),
    }
}

/// Refuses a configuration without an option that the fragment asks for. Options that only newer kernels have, and those
/// that are always on, may be missing.
fn check_configuration(configuration: &str) -> Result<(), String> {
    const MAY_LACK: [&str; 3] = ["CONFIG_STDIO_CONSOLE=y", "CONFIG_NET_SCH_DUALPI2=y", "CONFIG_PROC_SYSCTL=y"];
    let asked = FRAGMENT.lines().filter(|line| line.starts_with("CONFIG_") && !line.ends_with("=n"));
    let lacks = |line: &&str| !MAY_LACK.contains(line) && !configuration.lines().any(|own| own == *line);
    let missing: Vec<&str> = asked.filter(lacks).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("this kernel cannot have {}", missing.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_options_are_named() {
        let complete: Vec<&str> = FRAGMENT.lines().collect();
        assert_eq!(check_configuration(&complete.join("\n")), Ok(()));
        let without: Vec<&str> = complete.into_iter().filter(|line| !line.contains("NETEM")).collect();
        assert!(check_configuration(&without.join("\n")).unwrap_err().contains("CONFIG_NET_SCH_NETEM=y"));
    }

    #[test]
    fn changes_need_text_exactly_once() {
        let folder = std::env::temp_dir().join(format!("forebay-edits-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let edit = edits::Edit { file: "f", from: "old", to: "new", needed: true };
        fs::write(folder.join("f"), "an old text").unwrap();
        change(&folder, &edit).unwrap();
        assert_eq!(fs::read_to_string(folder.join("f")).unwrap(), "an new text");
        assert!(change(&folder, &edit).unwrap_err().contains("0 times"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
