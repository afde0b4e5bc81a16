//! `forebay plot`: one figure of a result directory as a picture for a paper.

use std::path::Path;

use forebay_aqm::base::nearest::nearest;
use serde::Serialize;

use super::failure::Failure;
use super::report;
use crate::report::Plottable;
use crate::results::meta::Meta;
use crate::scenario::{Found, InputError};

/// The JSON document of `forebay plot --json` without `--figure`.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// Format version, 1.
    pub version: u32,
    /// The figures that can be written.
    pub figures: Vec<Named>,
}

/// A figure of a result directory.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Name of the figure, for `--figure`.
    pub name: String,
    /// Title of the figure in the report.
    pub title: String,
}

/// Size of a picture, in points (1/72 inch).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width.
    pub width: f64,
    /// Height; `None`: depends on the figure.
    pub height: Option<f64>,
}

/// Width of a column of a two-column paper, 3.5 inches.
pub const COLUMN: f64 = 252.0;

/// The figures that the report of a result directory has.
///
/// # Errors
/// The directory has no results, or its files are damaged.
pub fn list(dir: &Path) -> Result<Document, Failure> {
    let named = |figure: Plottable| Named { name: figure.name, title: figure.title };
    Ok(Document { version: 1, figures: figures(dir)?.into_iter().map(named).collect() })
}

/// The SVG picture of a figure. `name` is the figure's name, or letters with which no other name begins.
///
/// # Errors
/// The directory has no results or no such figure, or its files are damaged.
pub fn svg(dir: &Path, name: &str, size: Size) -> Result<String, Failure> {
    let figures = figures(dir)?;
    let begins: Vec<&Plottable> = figures.iter().filter(|figure| figure.name.starts_with(name)).collect();
    let exact = figures.iter().find(|figure| figure.name == name);
    match (exact, begins.as_slice()) {
        (Some(figure), _) => Ok(figure.svg(size.width, size.height)),
        (None, [figure]) => Ok(figure.svg(size.width, size.height)),
        (None, several) => {
            let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
            let known = match several {
                [] => format!("the name of a figure; forebay plot {} lists them", dir.display()),
                _ => several.iter().map(|figure| figure.name.as_str()).collect::<Vec<_>>().join(" or "),
            };
            let near = nearest(name, names).filter(|_| several.is_empty());
            let error = InputError::new("plot", "--figure", Found::text(name), known);
            Err(Failure::Input(match near {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None => error,
            }))
        }
    }
}

fn figures(dir: &Path) -> Result<Vec<Plottable>, Failure> {
    report::expect_results(dir, "plot")?;
    if let Meta::Papers(_) = Meta::read(dir)? {
        let found = Found::thing("results of several papers");
        return Err(Failure::Input(InputError::new("plot", "DIR", found, "the directory of one paper or scenario")));
    }
    Ok(crate::report::plottable(dir)?)
}
