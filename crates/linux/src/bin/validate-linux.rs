//! Compares qdiscs of Linux with Forebay's disciplines, and writes the page and the digests: `cargo xtask
//! validate-linux`. `--packets N`: packets of each discipline, default a million. `--only NAME`: compares only the pairs
//! whose name begins with NAME, and writes no file.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn run() -> Result<bool, String> {
    use forebay_linux::build::sources::checkout;
    use forebay_linux::oracle::page::{self, DIGESTS, PAGE};
    use forebay_linux::oracle::pairs::{CONTRASTS, PAIRS};
    use forebay_linux::place::{Kernel, REMEDY};

    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
    if words.len() % 2 == 1 || words.iter().step_by(2).any(|word| !["--packets", "--only"].contains(&word.as_str())) {
        return Err("usage: cargo xtask validate-linux [--packets N] [--only NAME]".into());
    }
    let packets =
        value("--packets").map_or(Ok(1_000_000), |text| text.parse().map_err(|_| "--packets needs a number"))?;
    let only = value("--only").map(String::as_str);
    let kernel = Kernel::find().map_err(|missing| format!("{missing}; {REMEDY}"))?;
    let mut rows = Vec::new();
    for pair in PAIRS.into_iter().filter(|pair| only.is_none_or(|only| pair.name.starts_with(only))) {
        let row = page::row(&kernel, &pair, packets).map_err(|why| format!("{}: {why}", pair.name))?;
        println!("{:10} {row:?}", pair.name);
        rows.push((pair, row));
    }
    let equal = rows.iter().all(|(_, row)| row.is_equal());
    if only.is_some() {
        return Ok(equal);
    }
    let mut contrasts = Vec::new();
    for contrast in CONTRASTS {
        let row = page::contrast(&kernel, &contrast).map_err(|why| format!("{}: {why}", contrast.about))?;
        println!("{}: {row:?}", contrast.about);
        contrasts.push((contrast, row));
    }
    let root = checkout().ok_or("no checkout")?;
    let digests = page::digests(&kernel).map_err(|why| why.to_string())?;
    let text = page::page(kernel.version(), &rows, &contrasts);
    for (file, text) in [(PAGE, text), (DIGESTS, digests)] {
        std::fs::write(root.join(file), text).map_err(|error| format!("cannot write {file}: {error}"))?;
    }
    Ok(equal)
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: packets differ");
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("error: it needs Linux");
    ExitCode::from(4)
}
