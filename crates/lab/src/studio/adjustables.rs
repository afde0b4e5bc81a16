//! The values of a scenario that the page of `forebay studio` changes with sliders and lists: rates, round-trip time,
//! buffers, numbers of flows, senders, times, disciplines and their parameters. A change is a change of the text.
//! Contenders are the compared disciplines, axes the keys that vary.

use forebay_aqm::ENTRIES;
use forebay_aqm::base::params::ParamSpec;
use forebay_aqm::base::text::{self, show_depth, show_rate, show_span};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Depth, Rate};
use forebay_sim::tcp::Transport;
use serde::{Deserialize, Serialize};

use super::edit;
use crate::build::buffers;
use crate::document::{self, Node, Source, Value, list, quote, vary};
use crate::figures::flow_column;
use crate::input::{Found, InputError};
use crate::scenario::{Case, Contender, Scenario, TcpVariant};

/// Most links, and most groups of flows, that have sliders.
const MOST: usize = 12;

/// A value that can be changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Adjustable {
    /// Identifies the adjustable value in [`change`].
    pub(super) id: String,
    /// Heading that several adjustable values share.
    pub(super) group: String,
    /// Name within the group.
    pub(super) label: String,
    /// What it means; empty if the label says it.
    pub(super) doc: &'static str,
    /// Whether it is shown only on request.
    pub(super) more: bool,
    /// Its value and the values that it can have.
    #[serde(flatten)]
    pub(super) control: Control,
}

/// How an adjustable value is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "control", rename_all = "lowercase")]
pub(super) enum Control {
    /// A slider.
    Slider {
        /// Present value, in base units: bit/s, s, packets, bytes.
        value: f64,
        /// Smallest value of the slider; the text can have smaller ones.
        low: f64,
        /// Largest value of the slider.
        high: f64,
        /// Whether equal distances are equal factors.
        log: bool,
        /// What the base unit measures: `rate`, `time`, `packets`, `bytes`, or `number`.
        unit: &'static str,
        /// Step of whole numbers, 1; `None` for others.
        step: Option<f64>,
        /// Present value as text.
        text: String,
    },
    /// One of several words.
    Choice {
        /// Present word.
        value: String,
        /// All words.
        among: Vec<String>,
    },
    /// Any number of several words.
    Several {
        /// Chosen words, in their order.
        chosen: Vec<String>,
        /// Words to choose from.
        among: Vec<String>,
    },
}

/// The new value of an adjustable value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Setting {
    /// Of a slider.
    Number(f64),
    /// Of a choice.
    Word(String),
    /// Of a choice of several.
    Words(Vec<String>),
}

/// What a slider changes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Quantity {
    /// In bit/s.
    Rate,
    /// In s.
    Time,
    /// In packets.
    Packets,
    /// In bytes.
    Bytes,
    /// A whole number.
    Whole,
    /// A number.
    Number,
}

impl Quantity {
    /// The value of a text, with its kind.
    fn parse(text: &str, is_whole: bool) -> Option<(Self, f64)> {
        if let Some(number) = text::number(text).ok().filter(|_| text.trim().ends_with(|c: char| c.is_ascii_digit())) {
            return Some((if is_whole { Self::Whole } else { Self::Number }, number));
        }
        let rate = || text::rate(text).ok().map(|rate| (Self::Rate, rate.0 as f64));
        let time = || text::span(text).ok().map(|span| (Self::Time, span.secs()));
        let depth = || match text::depth(text).ok()? {
            Depth::Packets(n) => Some((Self::Packets, n)),
            Depth::Bytes(n) => Some((Self::Bytes, n)),
        };
        time().or_else(depth).or_else(rate)
    }

    /// The value as text, rounded to three significant digits.
    fn show(self, value: f64) -> String {
        let value = if value.is_finite() { value.max(0.0) } else { 0.0 };
        let rounded = format!("{value:.2e}").parse().unwrap_or(value);
        match self {
            Self::Rate => show_rate(Rate((rounded as u64).max(1))),
            Self::Time => show_span(Span::from_secs(rounded.min(1e9))),
            Self::Packets => show_depth(Depth::Packets(rounded.round().max(1.0))),
            Self::Bytes => show_depth(Depth::Bytes(rounded.round().max(1.0))),
            Self::Whole => format!("{}", value.round()),
            Self::Number => format!("{rounded}"),
        }
    }

    /// The value as TOML.
    fn toml(self, value: f64) -> String {
        match self {
            Self::Whole | Self::Number => self.show(value),
            _ => quote(&self.show(value)),
        }
    }

    /// A slider over these values; `text` is the present value in the file.
    fn slider(self, value: f64, (low, high): (f64, f64), log: bool) -> Control {
        let step = matches!(self, Self::Whole | Self::Packets).then_some(1.0);
        // A logarithm needs positive values.
        let low = if log && value <= 0.0 { low } else { low.min(value) };
        let unit = match self {
            Self::Rate => "rate",
            Self::Time => "time",
            Self::Packets => "packets",
            Self::Bytes => "bytes",
            Self::Whole | Self::Number => "number",
        };
        Control::Slider { value, low, high: high.max(value), log, unit, step, text: self.show(value) }
    }
}

/// What an adjustable value changes in the text.
enum Target {
    /// The value at this path.
    Value(Vec<String>, Quantity),
    /// The delay at this path, so that the mean base round trip has the value of the slider. `rest_s` is the base round
    /// trip without this link.
    RoundTrip { path: Vec<String>, rest_s: f64 },
    /// One end of the only active window, in seconds.
    Window { path: Vec<String>, window: (f64, f64), is_end: bool },
    /// The word at this path.
    Word(Vec<String>),
    /// A parameter in the text of a discipline at this path.
    Parameter { path: Vec<String>, name: &'static str, quantity: Option<Quantity> },
    /// The contenders.
    Contenders,
    /// The list of words at this path.
    Words(Vec<String>),
}

/// The tree of a scenario text, and the axes.
struct Read {
    root: Node,
    axes: Vec<vary::Axis>,
}

impl Read {
    fn new(file: &str, text: &str) -> Result<Self, InputError> {
        let mut root = document::parse(&Source::file(file, text))?;
        let axes = vary::take(&mut root)?;
        Ok(Self { root, axes })
    }

    fn at(&self, path: &[String]) -> Option<&Node> {
        path.iter().try_fold(&self.root, |node, key| node.step(key))
    }

    /// Whether an axis sets the value at this path or a part of it.
    fn varies(&self, path: &[String]) -> bool {
        let is_axis = |axis: &vary::Axis| {
            let steps = document::paths::steps(&self.root, &axis.name);
            document::paths::covers(&steps, path) || document::paths::covers(path, &steps)
        };
        let has_name = |node: &Node| node.text().is_some_and(|text| text.contains('{'));
        self.axes.iter().filter(|axis| axis.is_path()).any(is_axis) || self.at(path).is_some_and(has_name)
    }

    /// The paths of the texts of the contenders; empty if the file gives none.
    fn contenders(&self) -> Vec<Vec<String>> {
        let path = |keys: &[&str]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
        match self.at(&path(&["compare", "aqm"])).map(|node| &node.value) {
            Some(Value::List(items)) => (0..items.len()).map(|n| path(&["compare", "aqm", &n.to_string()])).collect(),
            Some(_) => vec![path(&["compare", "aqm"])],
            None => Vec::new(),
        }
    }
}

/// The adjustable values of the case `at` of a scenario.
///
/// # Errors
/// The text is not TOML.
pub(super) fn adjustables(file: &str, text: &str, case: &Case) -> Result<Vec<Adjustable>, InputError> {
    Ok(all(&Read::new(file, text)?, case).into_iter().map(|(adjustable, _)| adjustable).collect())
}

/// The text with a new value of the adjustable value `id`.
///
/// # Errors
/// There is no such adjustable value, or its value is of another kind.
pub(super) fn change(file: &str, text: &str, case: &Case, id: &str, setting: &Setting) -> Result<String, InputError> {
    let read = Read::new(file, text)?;
    let wrong = |found: &str, accepts: &str| InputError::new(file, id, Found::text(found), accepts);
    let known = all(&read, case).into_iter().find(|(adjustable, _)| adjustable.id == id);
    let Some((_, target)) = known else { return Err(wrong(id, "a value that can be changed here")) };
    let kind = || wrong(&format!("{setting:?}"), "a value of another form");
    let put = |path: &[String], value: &str| {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        edit::put(text, &read.root, &keys, value).ok_or_else(|| wrong(id, "a key in a table of the file"))
    };
    match (target, setting) {
        (Target::Value(path, quantity), Setting::Number(value)) => put(&path, &quantity.toml(*value)),
        (Target::RoundTrip { path, rest_s }, Setting::Number(value)) => {
            put(&path, &Quantity::Time.toml(((value - rest_s) / 2.0).max(0.0)))
        }
        (Target::Window { path, window: (from, to), is_end }, Setting::Number(value)) => {
            // A window has a length.
            let (from, to) = if is_end { (from, value.max(from + 0.001)) } else { (value.min(to - 0.001), to) };
            put(&path, &list([from, to].map(|secs| Quantity::Time.toml(secs))))
        }
        (Target::Word(path), Setting::Word(word)) => put(&path, &quote(word)),
        (Target::Parameter { path, name, quantity }, setting) => {
            let value = match (quantity, setting) {
                (Some(quantity), Setting::Number(value)) => quantity.show(*value),
                (None, Setting::Word(word)) => word.clone(),
                _ => return Err(kind()),
            };
            let words = read.at(&path).and_then(Node::text).unwrap_or_default();
            put(&path, &quote(&with_parameter(words, name, &value)))
        }
        (Target::Contenders, Setting::Words(words)) => contenders(text, &read, case, words).ok_or_else(kind),
        (Target::Words(path), Setting::Words(words)) => put(&path, &list(words.iter().map(|word| quote(word)))),
        _ => Err(kind()),
    }
}

/// The text of a discipline with `name=value`.
fn with_parameter(text: &str, name: &str, value: &str) -> String {
    let is_given = |word: &str| word.split_once('=').is_some_and(|(key, _)| key == name);
    let mut words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
    match words.iter_mut().find(|word| is_given(word)) {
        Some(word) => *word = format!("{name}={value}"),
        None => words.push(format!("{name}={value}")),
    }
    words.join(" ")
}

/// The text with these contenders. Labels of those that remain are kept.
fn contenders(text: &str, read: &Read, case: &Case, words: &[String]) -> Option<String> {
    let put = |text: &str, key: &str, items: Vec<String>| {
        let root = document::parse(&Source::file("", text)).ok()?;
        edit::put(text, &root, &["compare", key], &list(items.iter().map(|item| quote(item))))
    };
    let labels = read.root.get("compare").and_then(|compare| compare.get("labels"));
    let old: Vec<(String, &Contender)> = written(read, case).into_iter().zip(&case.scenario.compare).collect();
    let changed = put(text, "aqm", words.to_vec())?;
    if labels.is_none() {
        return Some(changed);
    }
    let label = |word: &String| old.iter().find(|(text, _)| text == word).map_or(word, |(_, one)| &one.label).clone();
    put(&changed, "labels", words.iter().map(label).collect())
}

/// The contenders as the file writes them.
fn written(read: &Read, case: &Case) -> Vec<String> {
    let texts = read.contenders();
    if texts.is_empty() {
        return case.scenario.compare.iter().map(|one| one.label.clone()).collect();
    }
    texts.iter().filter_map(|path| Some(read.at(path)?.text()?.to_string())).collect()
}

/// All adjustable values with their targets.
fn all(read: &Read, case: &Case) -> Vec<(Adjustable, Target)> {
    let mut out = Vec::new();
    links(read, &case.scenario, &mut out);
    traffic(read, &case.scenario, &mut out);
    disciplines(read, case, &mut out);
    curves(read, &case.scenario, &mut out);
    out
}

/// An adjustable value of the value at `path`.
fn adjustable(group: &str, label: &str, path: &[String], control: Control) -> Adjustable {
    Adjustable { id: path.join("."), group: group.to_string(), label: label.to_string(), doc: "", more: false, control }
}

/// Rate, base round trip and buffer of the links.
fn links(read: &Read, scenario: &Scenario, out: &mut Vec<(Adjustable, Target)>) {
    let all = scenario.topology.links();
    let shown: Vec<_> = all.iter().filter(|link| link.is_forward).take(MOST).collect();
    let is_only = shown.len() == 1;
    for link in shown {
        let group = if is_only { "Link".to_string() } else { format!("Link {}", link.name) };
        let path = |key: &str| {
            let steps = std::iter::once("topology").chain(link.path.iter().map(String::as_str)).chain([key]);
            steps.map(str::to_string).collect::<Vec<String>>()
        };
        let mut slider = |key: &str, label: &str, range: (f64, f64)| {
            let path = path(key);
            let text = read.at(&path).and_then(Node::scalar);
            let Some((quantity, value)) = text.and_then(|text| Quantity::parse(&text, false)) else { return };
            if !read.varies(&path) {
                out.push((
                    adjustable(&group, label, &path, quantity.slider(value, range, true)),
                    Target::Value(path, quantity),
                ));
            }
        };
        slider("rate", "Rate", (1e5, 1e10));
        if !is_only {
            slider("delay", "One-way delay", (1e-4, 0.5));
        }
        slider("queue", "Buffer", (1.0, 1e4));
    }
    let [first, rest @ ..] = all.as_slice() else { return };
    let path: Vec<String> = ["topology"]
        .into_iter()
        .map(str::to_string)
        .chain(first.path.iter().cloned())
        .chain(["delay".to_string()])
        .collect();
    let rest_s = buffers::mean_round_trip_s(scenario).map(|all_s| all_s - 2.0 * first.link.delay.secs());
    if rest.iter().any(|link| link.is_forward) || read.varies(&path) {
        return;
    }
    let Some(rest_s) = rest_s.filter(|rest_s| *rest_s >= 0.0) else { return };
    let value = rest_s + 2.0 * first.link.delay.secs();
    let control = Quantity::Time.slider(value, (rest_s.max(1e-3), 1.0), true);
    let doc = "Mean round-trip time without queueing.";
    let round_trip = Adjustable { doc, ..adjustable("Link", "Round-trip time", &path, control) };
    out.insert(1.min(out.len()), (round_trip, Target::RoundTrip { path, rest_s }));
}

/// Number, sender, rate and active time of the flows of each group.
fn traffic(read: &Read, scenario: &Scenario, out: &mut Vec<(Adjustable, Target)>) {
    let end = scenario.duration.secs();
    for (n, group) in scenario.flows.iter().enumerate().take(MOST) {
        let path = |key: &str| ["flows", &n.to_string(), key].map(str::to_string).to_vec();
        let title = format!("Flows: {}", group.name);
        let path_of = path("count");
        if !read.varies(&path_of) {
            let control = Quantity::Whole.slider(f64::from(group.count), (0.0, 200.0), false);
            out.push((adjustable(&title, "Number", &path_of, control), Target::Value(path_of, Quantity::Whole)));
        }
        let path_of = path("tcp");
        if let Some(tcp) = group.kind.tcp().filter(|_| !read.varies(&path_of) && group.kind.word() != "sctp") {
            let among = TcpVariant::of(Transport::Tcp).iter().map(|(name, _)| (*name).to_string()).collect();
            let control = Control::Choice { value: tcp.variant.name().to_string(), among };
            out.push((adjustable(&title, "Sender", &path_of, control), Target::Word(path_of)));
        }
        let path_of = path("rate");
        let rate = read.at(&path_of).and_then(Node::text).and_then(|text| text::rate(text).ok());
        if let Some(rate) = rate.filter(|_| !read.varies(&path_of)) {
            let control = Quantity::Rate.slider(rate.0 as f64, (1e4, 1e9), true);
            out.push((adjustable(&title, "Rate", &path_of, control), Target::Value(path_of, Quantity::Rate)));
        }
        let path_of = path("rtt");
        let rtt = read.at(&path_of).and_then(Node::text).and_then(|text| text::span(text).ok());
        if let Some(rtt) = rtt.filter(|_| !read.varies(&path_of)) {
            let control = Quantity::Time.slider(rtt.secs(), (1e-3, 1.0), true);
            out.push((
                adjustable(&title, "Round-trip time", &path_of, control),
                Target::Value(path_of, Quantity::Time),
            ));
        }
        let path_of = path("active");
        if let [(from, to)] = group.active.as_slice()
            && !read.varies(&path_of)
        {
            let window = (from.secs(), to.map_or(end, Span::secs));
            let more = read.at(&path_of).is_none();
            for (is_end, label, value) in [(false, "Active from", window.0), (true, "Active until", window.1)] {
                let control = Quantity::Time.slider(value, (0.0, end), false);
                let own = adjustable(&title, label, &path_of, control);
                let id = format!("{}:{}", own.id, if is_end { "end" } else { "begin" });
                let target = Target::Window { path: path_of.clone(), window, is_end };
                out.push((Adjustable { id, more, ..own }, target));
            }
        }
    }
}

/// The contenders, and the parameters of each.
fn disciplines(read: &Read, case: &Case, out: &mut Vec<(Adjustable, Target)>) {
    let path = ["compare", "aqm"].map(str::to_string).to_vec();
    let chosen = written(read, case);
    if !read.varies(&path) && read.contenders().iter().all(|path| !read.varies(path)) {
        let others = ENTRIES.iter().map(|entry| entry.name.to_string());
        let has = |name: &String| chosen.iter().any(|text| text == name);
        let among = chosen.iter().cloned().chain(others.filter(|name| !has(name))).collect();
        let control = Control::Several { chosen, among };
        out.push((adjustable("Disciplines", "Compared", &path, control), Target::Contenders));
    }
    for (path, contender) in read.contenders().into_iter().zip(&case.scenario.compare) {
        let Some(text) = read.at(&path).and_then(Node::text) else { continue };
        // In the notation of tc(8), parameters have no equals sign.
        if !text.split_whitespace().skip(1).all(|word| word.contains('=')) {
            continue;
        }
        let mut own: Vec<(Adjustable, Target)> = Vec::new();
        for spec in contender.spec.entry().params {
            own.extend(parameter(text, contender, &path, spec));
        }
        own.sort_by_key(|(adjustable, _)| adjustable.more);
        out.extend(own);
    }
}

/// The adjustable value of a parameter; `None` if its value is not a number or word, or set by an axis.
fn parameter(text: &str, contender: &Contender, path: &[String], spec: &ParamSpec) -> Option<(Adjustable, Target)> {
    let word = text.split_whitespace().find_map(|word| word.split_once('=').filter(|(key, _)| *key == spec.name));
    if word.is_some_and(|(_, value)| value.contains('{')) {
        return None;
    }
    let value = contender.spec.get(spec.name)?;
    let words: Vec<String> = spec.unit.split('|').map(str::to_string).collect();
    let (control, quantity) =
        match Quantity::parse(&value, spec.accepts == "a whole number").filter(|_| spec.range_in.is_some()) {
            Some((quantity, number)) => (parameter_slider(quantity, number, spec), Some(quantity)),
            None if words.contains(&value) => (Control::Choice { value, among: words }, None),
            None => return None,
        };
    let id = format!("{}:{}", path.join("."), spec.name);
    let (group, label, more) = (contender.label.clone(), spec.name.to_string(), word.is_none());
    let target = Target::Parameter { path: path.to_vec(), name: spec.name, quantity };
    Some((Adjustable { id, group, label, doc: spec.doc, more, control }, target))
}

/// The slider of a parameter: about its default, within its range.
fn parameter_slider(quantity: Quantity, value: f64, spec: &ParamSpec) -> Control {
    let usual = Quantity::parse(&(spec.default)(), false).map_or(value, |(_, usual)| usual);
    let centre = if usual > 0.0 { usual } else { value };
    let (low, high) = spec.range;
    match () {
        () if high <= 100.0 * low.max(0.05) && high < 1e4 => quantity.slider(value, (low, high), false),
        () if centre <= 0.0 => quantity.slider(value, (low, high.min(1.0)), false),
        () => quantity.slider(value, ((centre / 50.0).max(low), (centre * 50.0).min(high)), true),
    }
}

/// Which curves the page shows.
fn curves(read: &Read, scenario: &Scenario, out: &mut Vec<(Adjustable, Target)>) {
    let path = ["report", "series"].map(str::to_string).to_vec();
    if read.varies(&path) {
        return;
    }
    let probes = scenario.compare.iter().flat_map(|one| {
        let name = one.spec.name();
        one.spec.probes().iter().map(move |probe| format!("{name}.{}", probe.name))
    });
    let tcp = scenario.flows.iter().filter(|group| group.kind.tcp().is_some() && group.count > 0);
    let flows = tcp.flat_map(|group| {
        let owners = (0..group.count.min(2)).map(|n| format!("{}.{n}", group.name));
        let owners: Vec<String> = std::iter::once(group.name.clone()).chain(owners).collect();
        owners.into_iter().flat_map(|owner| flow_column::FIELDS.map(|(field, ..)| format!("{owner}.{field}")))
    });
    let chosen = scenario.report.series.clone();
    let mut among = chosen.clone();
    for name in std::iter::once("queue".to_string()).chain(probes).chain(flows) {
        if !among.contains(&name) {
            among.push(name);
        }
    }
    out.push((adjustable("Curves", "Shown", &path, Control::Several { chosen, among }), Target::Words(path)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;
    use crate::scenario::Overrides;
    use crate::studio::library;

    fn cases(text: &str) -> Result<Vec<Case>, InputError> {
        load::parse("../../examples/x.toml", text, &Overrides::default())
    }

    fn of(text: &str) -> Vec<Adjustable> {
        adjustables("x.toml", text, &cases(text).unwrap()[0]).unwrap()
    }

    fn changed(text: &str, id: &str, setting: &Setting) -> Result<String, InputError> {
        change("x.toml", text, &cases(text).unwrap()[0], id, setting)
    }

    const TEXT: &str = include_str!("../../../../examples/bufferbloat.toml");

    #[test]
    fn sliders_change_single_values_of_the_text() {
        let number = Setting::Number;
        let list = |words: &[&str]| Setting::Words(words.iter().map(ToString::to_string).collect());
        let cases = [
            ("topology.bottleneck.rate", number(35.44e6), "rate = \"20mbit\"", "rate = \"35.4mbit\""),
            ("topology.bottleneck.queue", number(1234.0), "\"250p\"", "\"1230p\""),
            // 100 ms = 2 (8 ms + 2 ms + delay)
            ("topology.bottleneck.delay", number(0.1), "delay = \"10ms\", queue", "delay = \"40ms\", queue"),
            ("flows.0.count", number(7.0), "count = 2", "count = 7"),
            ("flows.0.tcp", Setting::Word("bbr".to_string()), "\"cubic\"", "\"bbr\""),
            ("flows.0.active:end", number(2.5), "count = 2", "count = 2\nactive = [\"0s\", \"2.5s\"]"),
            ("flows.1.rate", number(2e6), "\"100kbit\"", "\"2mbit\""),
            ("compare.aqm.1:target", number(0.01), "\"fq_codel\"", "\"fq_codel target=10ms\""),
            ("compare.aqm", list(&["pie", "red"]), "[\"droptail\", \"fq_codel\"]", "[\"pie\", \"red\"]"),
            ("report.series", list(&["queue"]), "[\"queue\", \"download.cwnd\"]", "[\"queue\"]"),
        ];
        for (id, setting, old, new) in cases {
            let text = changed(TEXT, id, &setting).unwrap_or_else(|error| panic!("{id}: {error}"));
            assert_eq!(text, TEXT.replace(old, new), "{id}");
        }
        for (id, setting) in [("topology.x", number(1.0)), ("flows.0.tcp", number(1.0)), ("flows.0.count", list(&[]))] {
            assert!(changed(TEXT, id, &setting).is_err(), "{id}");
        }
    }

    #[test]
    fn parameters_are_replaced_in_disciplines_text() {
        let text = TEXT.replace("\"fq_codel\"", "\"fq_codel target=9ms interval=70ms\"");
        let text = changed(&text, "compare.aqm.1:target", &Setting::Number(0.003)).unwrap();
        assert!(text.contains("\"fq_codel target=3ms interval=70ms\""), "{text}");
        let keys: Vec<String> = of(&text).into_iter().filter(|one| !one.more).map(|one| one.id).collect();
        assert!(keys.contains(&"compare.aqm.1:interval".to_string()), "written parameters come first: {keys:?}");
    }

    #[test]
    fn varying_values_have_no_slider() {
        let text = format!("{TEXT}\n[vary]\n\"topology.bottleneck.rate\" = [\"1mbit\", \"2mbit\"]\n");
        assert!(of(&text).iter().all(|one| one.id != "topology.bottleneck.rate"));
        let text = TEXT.replace("\"fq_codel\"", "\"fq_codel target={t}\"") + "\n[vary]\nt = [\"1ms\", \"5ms\"]\n";
        assert!(of(&text).iter().all(|one| one.id != "compare.aqm.1:target"));
    }

    /// A slider at its present value changes at most the notation of the value, in every example.
    #[test]
    fn present_values_keep_the_scenario() {
        for offered in library::all().into_iter().filter(|offered| offered.group == "Examples") {
            let before = cases(&offered.text).unwrap_or_else(|error| panic!("{}: {error}", offered.file));
            let all = adjustables("x.toml", &offered.text, &before[0]).unwrap();
            assert!(all.len() > 5, "{}: {}", offered.file, all.len());
            for one in all {
                let Control::Slider { value, .. } = one.control else { continue };
                let text = change("x.toml", &offered.text, &before[0], &one.id, &Setting::Number(value)).unwrap();
                let after = cases(&text).unwrap_or_else(|error| panic!("{} {}: {error}", offered.file, one.id));
                assert_eq!(after.len(), before.len(), "{} {}", offered.file, one.id);
            }
        }
    }
}
