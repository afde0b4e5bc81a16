//! `cargo xtask web`: the laboratory in a browser, as a static site and as one HTML file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use forebay_lab::studio::page::{Engine, page};

use crate::base::program::{self, at, cargo, shown};

/// Target of the engine.
const TARGET: &str = "wasm32-unknown-unknown";
/// How to get the target.
const HINT: &str = "install it: rustup target add wasm32-unknown-unknown";

/// Optimisation of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Build {
    /// Small and fast; takes minutes.
    Full,
    /// For tests.
    Quick,
}

impl Build {
    const fn profile(self) -> &'static str {
        match self {
            Self::Full => "web",
            Self::Quick => "web-quick",
        }
    }
}

/// The built site.
pub(crate) struct Site {
    /// Folder of the site: `index.html` and `engine.wasm.gz`.
    pub(crate) folder: PathBuf,
    /// The page with the engine in it.
    pub(crate) file: PathBuf,
    /// Bytes of the engine: as it is, and compressed.
    pub(crate) bytes: (usize, usize),
}

/// Whether the target of the engine is installed; else what brings it.
pub(crate) fn has_target() -> Result<(), String> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(program::root());
    let folder = program::said(rustc).map_err(|_| HINT.to_string())?;
    let has_core = fs::read_dir(folder.trim()).is_ok_and(|mut files| files.next().is_some());
    has_core.then_some(()).ok_or_else(|| format!("no target {TARGET}: {HINT}"))
}

/// Builds the site and prints where it is.
pub(crate) fn run() -> Result<(), String> {
    let site = build(Build::Full)?;
    let (whole, compressed) = site.bytes;
    println!("engine: {whole} bytes, {compressed} with gzip");
    println!("site, for any web server:\n{}", site.folder.display());
    println!("one file, which needs no server:\n{}", site.file.display());
    Ok(())
}

/// Builds the site below the target folder.
pub(crate) fn build(build: Build) -> Result<Site, String> {
    has_target()?;
    let profile = build.profile();
    shown(cargo(&["build", "--quiet", "--profile", profile, "--target", TARGET, "-p", "forebay-web"]))?;
    let module = program::build_dir().join(TARGET).join(profile).join("forebay_web.wasm");
    let module = at(&module, fs::read(&module))?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let packed = packed.write_all(&module).and_then(|()| packed.finish()).map_err(|error| error.to_string())?;
    let folder = program::build_dir().join("web");
    program::empty(&folder)?;
    let put = |path: &Path, bytes: &[u8]| at(path, fs::write(path, bytes));
    put(&folder.join("engine.wasm.gz"), &packed)?;
    let version = env!("CARGO_PKG_VERSION");
    put(&folder.join("index.html"), page(Engine::NextToPage, version, Vec::new()).as_bytes())?;
    let file = folder.join("forebay.html");
    put(&file, page(Engine::InPage(&STANDARD.encode(&packed)), version, Vec::new()).as_bytes())?;
    Ok(Site { folder, file, bytes: (module.len(), packed.len()) })
}
