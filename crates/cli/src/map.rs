//! What `forebay theory stability --map` asks and shows: a loop over two of flows, round trip and rate.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use forebay_aqm::base::nearest::nearest;
use forebay_aqm::base::params::Value as _;
use forebay_aqm::base::text::{self, BadValue};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;
use forebay_lab::disk;
use forebay_lab::scenario::{Found, InputError};
use forebay_lab::theory::map::{self, Axis, Cell};
use forebay_lab::theory::setting::{Scaled, Setting};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::models::Model;

/// Arguments of the map.
#[derive(Args, Debug)]
pub(crate) struct MapArgs {
    /// stability: a side of a map: flows=5..500, rtt=20ms..2s (mean base) or rate=1mbit..1gbit; twice.
    #[arg(long = "map", value_name = "AXIS=FROM..TO")]
    map: Vec<String>,
    /// stability: points along each side of the map.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=1000))]
    points: u32,
    /// A picture, an SVG file: of the map, of the fluid's course, of the queue's distribution (markov, mmpp).
    #[arg(short = 'o', long = "output", value_name = "FILE.svg")]
    pub(crate) output: Option<PathBuf>,
}

/// One side as it was asked for, in units of its own.
#[derive(Clone, Copy)]
pub(crate) struct Side {
    what: Scaled,
    from: f64,
    to: f64,
}

const ACCEPTS: &str = "one of flows, rtt and rate, and from where to where, such as flows=5..500 or rtt=20ms..2s";

impl Side {
    fn read(words: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(ACCEPTS);
        let (name, range) = words.split_once('=').ok_or_else(bad)?;
        let (from, to) = range.split_once("..").ok_or_else(bad)?;
        let what = match name.trim() {
            "flows" => Scaled::Flows,
            "rtt" => Scaled::RoundTrip,
            "rate" => Scaled::Capacity,
            name => {
                let near = nearest(name, ["flows", "rtt", "rate"]);
                return Err(BadValue { hint: near.map(|near| format!("did you mean {near}?")), ..bad() });
            }
        };
        let value = |text: &str| match what {
            Scaled::Flows => text::number(text),
            Scaled::RoundTrip => Span::parse(text).map(Span::secs),
            Scaled::Capacity => Rate::parse(text).map(|rate| rate.0 as f64),
        };
        let (from, to) = (value(from.trim())?, value(to.trim())?);
        if from > 0.0 && to > from && to.is_finite() { Ok(Self { what, from, to }) } else { Err(bad()) }
    }

    /// What the setting has of it.
    fn now(self, setting: &Setting) -> f64 {
        match self.what {
            Scaled::Flows => setting.count(),
            Scaled::RoundTrip => setting.at_rest(0.0, setting.capacity).mean_rtt_s(),
            Scaled::Capacity => setting.link.rate.0 as f64,
        }
    }

    const fn name(self) -> &'static str {
        match self.what {
            Scaled::Flows => "flows",
            Scaled::RoundTrip => "rtt_s",
            Scaled::Capacity => "rate_bps",
        }
    }

    /// A value of it for people.
    fn show(self, value: f64) -> String {
        match self.what {
            Scaled::Flows => format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_string(),
            Scaled::RoundTrip => Span::from_secs(value).show(),
            Scaled::Capacity => Rate(value as u64).show(),
        }
    }

    fn axis(self, setting: &Setting, points: u32) -> Axis {
        let now = self.now(setting);
        Axis::new(self.what, self.from / now, self.to / now, points as usize)
    }

    fn values(self, points: u32) -> Vec<f64> {
        Axis::new(self.what, self.from, self.to, points as usize).factors
    }
}

impl MapArgs {
    /// The two sides, if a map is asked for.
    pub(crate) fn sides(&self, model: Model) -> Result<Option<[Side; 2]>, InputError> {
        let wrong = |found, accepts: &str| Err(InputError::new("--map", "", found, accepts));
        if self.map.is_empty() {
            return match &self.output {
                Some(path) if model == Model::Stability => {
                    let accepts = "only with --map, whose picture it is";
                    Err(InputError::new("-o", "", Found::text(&path.display().to_string()), accepts))
                }
                _ => Ok(None),
            };
        }
        if model != Model::Stability {
            return wrong(Found::text(model.word()), "stability: the other models have no such argument");
        }
        let read = |words: &String| {
            let error = |bad: BadValue| InputError::new("--map", "", Found::text(words), bad.accepts).hint(bad.hint);
            Side::read(words).map_err(error)
        };
        match self.map.iter().map(read).collect::<Result<Vec<Side>, _>>()?[..] {
            [x, y] if x.what != y.what => Ok(Some([x, y])),
            [x, _] => wrong(Found::text(x.name()), "two different sides"),
            _ => wrong(Found::thing(format!("{} sides", self.map.len())), "two: once across, once upwards"),
        }
    }
}

/// The map of one discipline.
pub(crate) struct Drawn {
    label: String,
    aqm: String,
    /// Rows upwards.
    cells: Vec<Vec<Option<Cell>>>,
}

impl Drawn {
    /// Of `spec` in this setting; why not, in words.
    pub(crate) fn of(
        label: String,
        spec: &forebay_aqm::Spec,
        setting: &Setting,
        [x, y]: [Side; 2],
        args: &MapArgs,
    ) -> Result<Self, String> {
        let (across, up) = (x.axis(setting, args.points), y.axis(setting, args.points));
        let cells = map::of(spec, setting, [&across, &up]).map_err(|why| format!("{label}: {}", why.text()))?;
        Ok(Self { label, aqm: spec.canonical(), cells })
    }

    fn json(&self) -> Value {
        let all = |of: fn(&Cell) -> Value| -> Value {
            self.cells
                .iter()
                .map(|row| row.iter().map(|cell| cell.as_ref().map_or(Value::Null, of)).collect())
                .collect::<Vec<Value>>()
                .into()
        };
        json!({
            "label": self.label,
            "aqm": self.aqm,
            "stable": all(|cell| json!(cell.stable)),
            "delay_margin_ms": all(|cell| json!(cell.delay_margin_ms)),
            "q_rest_pkts": all(|cell| json!(cell.q_rest_pkts)),
            "p_rest": all(|cell| json!(cell.p_rest)),
        })
    }

    /// The kind of a point: does it rest, and is that stable?
    fn kind(cell: Option<&Cell>) -> Kind {
        match cell {
            None => Kind::NoRest,
            Some(cell) if cell.stable => Kind::Stable,
            Some(_) => Kind::Swings,
        }
    }

    fn share(&self, kind: Kind) -> f64 {
        let cells = self.cells.iter().flatten();
        let (hits, all) =
            cells.fold((0, 0), |(hits, all), cell| (hits + u32::from(Self::kind(cell.as_ref()) == kind), all + 1));
        100.0 * f64::from(hits) / f64::from(all.max(1))
    }

    /// A picture of letters, upwards.
    fn text(&self, [x, y]: [Side; 2]) -> String {
        const WIDTH: usize = 60;
        const HEIGHT: usize = 20;
        let rows = self.cells.len();
        let mut out = format!("{}\n", self.label);
        for line in (0..HEIGHT.min(rows)).rev() {
            let row = &self.cells[pick(line, HEIGHT.min(rows), rows)];
            let width = WIDTH.min(row.len());
            let letter = |i: usize| Self::kind(row[pick(i, width, row.len())].as_ref()).letter();
            let side = match line {
                0 => y.show(y.from),
                line if line + 1 == HEIGHT.min(rows) => y.show(y.to),
                _ => String::new(),
            };
            let _ = writeln!(out, "{side:>9} {}", (0..width).map(letter).collect::<String>());
        }
        let (from, to) = (x.show(x.from), x.show(x.to));
        let _ = writeln!(out, "{:10}{from}{to:>1$}", "", WIDTH.min(self.cells[0].len()) - from.len());
        for kind in [Kind::Stable, Kind::Swings, Kind::NoRest] {
            let _ = write!(out, "{:10}{} {} {:.0} %", "", kind.letter(), kind.words(), self.share(kind));
        }
        out.push('\n');
        out
    }
}

/// The place among `all` of the middle of part `i` of `parts`.
const fn pick(i: usize, parts: usize, all: usize) -> usize {
    (2 * i + 1) * all / (2 * parts)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stable,
    Swings,
    NoRest,
}

impl Kind {
    const fn letter(self) -> char {
        match self {
            Self::Stable => '+',
            Self::Swings => '~',
            Self::NoRest => ' ',
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Swings => "swings",
            Self::NoRest => "(blank) no rest",
        }
    }

    const fn colour(self) -> &'static str {
        match self {
            Self::Stable => "#7fb285",
            Self::Swings => "#d9825b",
            Self::NoRest => "#e6e6e6",
        }
    }
}

/// All maps for people or machines; the picture, where it was asked for.
pub(crate) fn show(
    title: &str,
    maps: &[Drawn],
    sides: [Side; 2],
    args: &MapArgs,
    ui: &crate::output::Ui,
) -> Result<(), Failure> {
    let [x, y] = sides;
    if let Some(path) = &args.output {
        disk::write_whole(path, picture(maps, sides).as_bytes())?;
    }
    if ui.json() {
        let results: Vec<Value> = maps.iter().map(Drawn::json).collect();
        return ui.print_json(&json!({
            "version": 1, "topic": "stability", "scenario": title,
            "map": { "x": { "axis": x.name(), "values": x.values(args.points) },
                     "y": { "axis": y.name(), "values": y.values(args.points) } },
            "results": results,
        }));
    }
    let all: Vec<String> = maps.iter().map(|map| map.text(sides)).collect();
    ui.print(&format!("{} upwards, {} across, both by equal factors\n\n{}", y.name(), x.name(), all.join("\n")))
}

/// The maps beside each other.
fn picture(maps: &[Drawn], [x, y]: [Side; 2]) -> String {
    const SIZE: f64 = 300.0;
    const LEFT: f64 = 80.0;
    const TOP: f64 = 36.0;
    let (width, height) = ((SIZE + LEFT) * maps.len() as f64 + 20.0, SIZE + TOP + 70.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\" shape-rendering=\"crispEdges\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    for (i, map) in maps.iter().enumerate() {
        let left = LEFT + (SIZE + LEFT) * i as f64;
        let tall = SIZE / map.cells.len() as f64;
        let _ = writeln!(out, "<text x=\"{left}\" y=\"20\">{}</text>", escape(&map.label));
        for (j, row) in map.cells.iter().enumerate() {
            let wide = SIZE / row.len() as f64;
            let bottom = TOP + SIZE - tall * (j + 1) as f64;
            // A bar for each run of equal cells.
            for run in row.chunk_by(|a, b| Drawn::kind(a.as_ref()) == Drawn::kind(b.as_ref())) {
                let start = (run.as_ptr() as usize - row.as_ptr() as usize) / size_of::<Option<Cell>>();
                let (from, span) = (left + wide * start as f64, wide * run.len() as f64);
                let colour = Drawn::kind(run[0].as_ref()).colour();
                let _ = writeln!(
                    out,
                    "<rect x=\"{from:.2}\" y=\"{bottom:.2}\" width=\"{span:.2}\" height=\"{:.2}\" fill=\"{colour}\"/>",
                    tall + 0.05
                );
            }
        }
        let below = TOP + SIZE + 16.0;
        for (value, at, anchor) in [(x.from, left, "start"), (x.to, left + SIZE, "end")] {
            let _ = writeln!(out, "<text x=\"{at}\" y=\"{below}\" text-anchor=\"{anchor}\">{}</text>", x.show(value));
        }
        let middle = left + 0.5 * SIZE;
        let _ = writeln!(out, "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">{}</text>", x.name());
        for (value, at) in [(y.from, TOP + SIZE), (y.to, TOP + 10.0)] {
            let _ = writeln!(out, "<text x=\"{}\" y=\"{at}\" text-anchor=\"end\">{}</text>", left - 6.0, y.show(value));
        }
        let (side, middle) = (left - 6.0, TOP + 0.5 * SIZE);
        let _ = writeln!(out, "<text x=\"{side}\" y=\"{middle}\" text-anchor=\"end\">{}</text>", y.name());
        let mut at = left;
        for kind in [Kind::Stable, Kind::Swings, Kind::NoRest] {
            let line = below + 24.0;
            let _ = writeln!(
                out,
                "<rect x=\"{at}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>",
                line - 10.0,
                kind.colour()
            );
            let words = kind.words().trim_start_matches("(blank) ");
            let _ = writeln!(out, "<text x=\"{}\" y=\"{line}\">{words} {:.0} %</text>", at + 16.0, map.share(kind));
            at += 95.0;
        }
    }
    out.push_str("</svg>\n");
    out
}
