//! `forebay plot`: writes one figure of the results in a directory as a picture.

use std::ffi::OsStr;
use std::path::Path;

use forebay_lab::commands::plot::{self, Size};
use forebay_lab::disk;
use forebay_lab::scenario::{Found, InputError};

use crate::args::PlotArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;
use crate::render::picture;

/// Writes the figure that `--figure` names; without this argument, lists all figures.
pub(crate) fn command(args: &PlotArgs, ui: &Ui) -> Result<Exit, Failure> {
    let (Some(name), Some(file)) = (&args.figure, &args.output) else { return list(args, ui) };
    let convert = format(file)?;
    let svg = plot::svg(&args.dir, name, Size { width: args.width, height: args.height })?;
    let bytes = convert(&svg).map_err(|reason| Failure::run(format!("{}: {reason}", file.display())))?;
    disk::write_whole(file, &bytes)?;
    if ui.json() {
        ui.print_json(&serde_json::json!({ "version": 1, "file": file.display().to_string() }))?;
    } else {
        ui.print(&file.display().to_string())?;
    }
    Ok(Exit::Done)
}

fn list(args: &PlotArgs, ui: &Ui) -> Result<Exit, Failure> {
    let document = plot::list(&args.dir)?;
    if ui.json() {
        ui.print_json(&document)?;
        return Ok(Exit::Done);
    }
    let width = document.figures.iter().map(|figure| figure.name.len()).max().unwrap_or(0);
    let lines = document.figures.iter().map(|figure| format!("{:width$}  {}", figure.name, figure.title));
    ui.print(&lines.collect::<Vec<_>>().join("\n"))?;
    Ok(Exit::Done)
}

/// A conversion from SVG to the bytes of a file.
type Conversion = fn(&str) -> Result<Vec<u8>, String>;

/// The conversion that the ending of the file selects.
fn format(file: &Path) -> Result<Conversion, InputError> {
    match file.extension().and_then(OsStr::to_str) {
        Some("svg") => Ok(|svg| Ok(svg.as_bytes().to_vec())),
        Some("pdf") => Ok(picture::pdf),
        Some("png") => Ok(picture::png),
        _ => {
            let found = Found::text(&file.display().to_string());
            Err(InputError::new("plot", "--output", found, "a file that ends in .svg, .pdf or .png"))
        }
    }
}
