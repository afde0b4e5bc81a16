//! `forebay theory stability --map`: where the control loop of TCP and a discipline is stable, as a map. Its two axes
//! are two of the quantities number of flows, RTT and link rate.

use std::fmt::Write;

use forebay_lab::commands::map::{Drawn, Maps, Side};
use forebay_lab::disk;
use forebay_lab::render::svg::Svg;
use forebay_lab::theory::map::Cell;

use crate::args::theory::MapArgs;
use crate::failure::Failure;
use crate::render::output::Ui;

/// What the map shows at a point (a cell): no equilibrium, a stable one or an unstable one.
fn kind(cell: Option<&Cell>) -> Kind {
    match cell {
        None => Kind::NoEquilibrium,
        Some(cell) if cell.stable => Kind::Stable,
        Some(_) => Kind::Unstable,
    }
}

/// Percentage of the points (cells) of the map that are of the kind `of`.
fn share(map: &Drawn, of: Kind) -> f64 {
    let cells = map.cells.iter().flatten();
    let (hits, all) = cells.fold((0, 0), |(hits, all), cell| (hits + u32::from(kind(cell.as_ref()) == of), all + 1));
    100.0 * f64::from(hits) / f64::from(all.max(1))
}

/// The map in text, y axis upwards.
fn text(map: &Drawn, [x, y]: [Side; 2]) -> String {
    const WIDTH: usize = 60;
    const HEIGHT: usize = 20;
    let rows = map.cells.len();
    let mut out = format!("{}\n", map.label);
    for line in (0..HEIGHT.min(rows)).rev() {
        let row = &map.cells[pick(line, HEIGHT.min(rows), rows)];
        let width = WIDTH.min(row.len());
        let letter = |i: usize| kind(row[pick(i, width, row.len())].as_ref()).letter();
        let side = match line {
            0 => y.show(y.from),
            line if line + 1 == HEIGHT.min(rows) => y.show(y.to),
            _ => String::new(),
        };
        let _ = writeln!(out, "{side:>9} {}", (0..width).map(letter).collect::<String>());
    }
    let (from, to) = (x.show(x.from), x.show(x.to));
    let _ = writeln!(out, "{:10}{from}{to:>1$}", "", WIDTH.min(map.cells[0].len()) - from.len());
    for kind in [Kind::Stable, Kind::Unstable, Kind::NoEquilibrium] {
        let _ = write!(out, "{:10}{} {} {:.0} %", "", kind.letter(), kind.words(), share(map, kind));
    }
    out.push('\n');
    out
}

/// Divides `all` elements into `parts` parts. Returns the index of the middle element of part `i`.
const fn pick(i: usize, parts: usize, all: usize) -> usize {
    (2 * i + 1) * all / (2 * parts)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stable,
    Unstable,
    NoEquilibrium,
}

impl Kind {
    const fn letter(self) -> char {
        match self {
            Self::Stable => '+',
            Self::Unstable => '~',
            Self::NoEquilibrium => ' ',
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Unstable => "unstable",
            Self::NoEquilibrium => "(blank) no equilibrium",
        }
    }

    const fn colour(self) -> &'static str {
        match self {
            Self::Stable => "#7fb285",
            Self::Unstable => "#d9825b",
            Self::NoEquilibrium => "#e6e6e6",
        }
    }
}

/// Prints the maps as text or JSON: one for each discipline and combination of values of the scenario keys that vary.
/// With `--output`, also writes them as a picture.
pub(crate) fn show(maps: &Maps, sides: [Side; 2], args: &MapArgs, ui: &Ui) -> Result<(), Failure> {
    let [x, y] = sides;
    if let Some(path) = &args.output {
        disk::write_whole(path, picture(&maps.drawn, sides).as_bytes())?;
    }
    if ui.json() {
        return ui.print_json(&maps.document());
    }
    let all: Vec<String> = maps.drawn.iter().map(|map| text(map, sides)).collect();
    ui.print(&format!("y axis: {}, x axis: {}, both logarithmic\n\n{}", y.name(), x.name(), all.join("\n")))
}

/// All maps side by side, as one SVG picture.
fn picture(maps: &[Drawn], [x, y]: [Side; 2]) -> String {
    const SIZE: f64 = 300.0;
    const LEFT: f64 = 80.0;
    const TOP: f64 = 36.0;
    let (width, height) = ((SIZE + LEFT) * maps.len() as f64 + 20.0, SIZE + TOP + 70.0);
    let mut out = Svg::new(width, height, &[("shape-rendering", &"crispEdges")]);
    let bar = |out: &mut Svg, place: [&dyn std::fmt::Display; 4], kind: Kind| {
        let [x, y, width, height] = place;
        out.shape("rect", &[("x", x), ("y", y), ("width", width), ("height", height), ("fill", &kind.colour())]);
        out.end_line();
    };
    for (i, map) in maps.iter().enumerate() {
        let left = LEFT + (SIZE + LEFT) * i as f64;
        let tall = SIZE / map.cells.len() as f64;
        out.text(&[("x", &left), ("y", &"20")], &map.label).end_line();
        for (j, row) in map.cells.iter().enumerate() {
            let wide = SIZE / row.len() as f64;
            let bottom = TOP + SIZE - tall * (j + 1) as f64;
            // One rectangle per run of equal cells.
            for run in row.chunk_by(|a, b| kind(a.as_ref()) == kind(b.as_ref())) {
                let start = (run.as_ptr() as usize - row.as_ptr() as usize) / size_of::<Option<Cell>>();
                let (from, span) = (left + wide * start as f64, wide * run.len() as f64);
                let [x, y, width, height] = [from, bottom, span, tall + 0.05].map(|length| format!("{length:.2}"));
                bar(&mut out, [&x, &y, &width, &height], kind(run[0].as_ref()));
            }
        }
        let below = TOP + SIZE + 16.0;
        for (value, at, anchor) in [(x.from, left, "start"), (x.to, left + SIZE, "end")] {
            out.label(&at, &below, anchor, &x.show(value)).end_line();
        }
        out.label(&(left + 0.5 * SIZE), &below, "middle", &x.name()).end_line();
        for (value, at) in [(y.from, TOP + SIZE), (y.to, TOP + 10.0)] {
            out.label(&(left - 6.0), &at, "end", &y.show(value)).end_line();
        }
        out.label(&(left - 6.0), &(TOP + 0.5 * SIZE), "end", &y.name()).end_line();
        let mut at = left;
        for kind in [Kind::Stable, Kind::Unstable, Kind::NoEquilibrium] {
            let line = below + 24.0;
            bar(&mut out, [&at, &(line - 10.0), &"12", &"12"], kind);
            let words = format!("{} {:.0} %", kind.words().trim_start_matches("(blank) "), share(map, kind));
            out.text(&[("x", &(at + 16.0)), ("y", &line)], &words).end_line();
            at += 95.0;
        }
    }
    out.finish()
}
