//! Flows of kinds `mmpp` and `map`: packets that a Markov chain brings.

use std::sync::Arc;

use forebay_aqm::base::text::{self, BadValue};
use forebay_sim::source::{Pattern, Sizes, chain};
use forebay_theory::dense::{Matrix, cut_off, stationary};
use serde_json::Value as Json;

use super::cbr::PACKET;
use super::ecn::ECN;
use super::group::START;
use super::{LARGEST_MEAN, Part, Source};
use crate::declare::{Key, Keys, Parsed, Table, duration, may, need, quantity, schema, table, whole_number};
use crate::document::{Node, Text, Value, list, quote};
use crate::input::InputError;

/// The most states of a chain.
const MOST_STATES: usize = 64;
/// The fastest move or packet, per second: a microsecond in the mean.
const FASTEST: f64 = 1e6;
/// The most moves, in the mean, to the next packet: beyond it the moves cost more than the packets.
const MOST_MOVES: f64 = 1e6;
/// What a row of a generator may be off 0, of its largest cell: sums of decimals are not exact.
const OFF: f64 = 1e-9;
/// The most phases of an Erlang length.
const MOST_PHASES: u32 = 32;

/// A Markov chain that brings packets; rates are per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// Moves from state to state without a packet; 0 on the diagonal.
    pub moves: Vec<Vec<f64>>,
    /// Moves with a packet; in an MMPP each stays in its state.
    pub packets: Vec<Vec<f64>>,
}

impl Chain {
    /// Moves without a packet as a matrix whose rows, with those of [`Chain::with`], sum to 0 (D0).
    pub fn without(&self) -> Matrix {
        let leaves = |i: usize| self.moves[i].iter().chain(&self.packets[i]).sum::<f64>();
        let n = self.moves.len();
        Matrix::from_fn(n, n, |i, j| if i == j { -leaves(i) } else { self.moves[i][j] })
    }

    /// Moves with a packet as a matrix (D1).
    pub fn with(&self) -> Matrix {
        Matrix::from_fn(self.packets.len(), self.packets.len(), |i, j| self.packets[i][j])
    }

    /// All moves as a matrix whose rows sum to 0. Not D0 + D1, which rounds away slow moves beside fast packets.
    pub fn generator(&self) -> Matrix {
        let n = self.moves.len();
        let goes = |i: usize, j: usize| self.moves[i][j] + self.packets[i][j];
        let leaves = |i: usize| (0..n).filter(|j| *j != i).map(|j| goes(i, j)).sum::<f64>();
        Matrix::from_fn(n, n, |i, j| if i == j { -leaves(i) } else { goes(i, j) })
    }

    /// The probability of each state in the long run.
    pub fn shares(&self) -> Vec<f64> {
        // A chain that was read comes back to every state, so that there is one distribution.
        let found = stationary(&self.generator()).unwrap_or_default();
        found.into_iter().map(|share| share.max(0.0)).collect()
    }

    /// Packets per second in the long run.
    pub fn mean_rate(&self) -> f64 {
        self.shares().iter().zip(&self.packets).map(|(share, row)| share * row.iter().sum::<f64>()).sum()
    }

    /// The most moves in the mean, from any state, to the next packet and with it; `None` if it may never come.
    fn most_moves(&self) -> Option<f64> {
        let quiet = self.without();
        let n = quiet.rows();
        let leaves = Matrix::from_fn(n, 1, |i, _| quiet.at(i, i));
        let moves = quiet.solve(&leaves)?;
        (0..n).map(|i| moves.at(i, 0)).max_by(f64::total_cmp).filter(|most| most.is_finite())
    }
}

table! {
    /// The lengths of packets.
    pub struct Lengths {
        /// Packet in bytes on the wire; default the scenario's.
        packet: u32 = PACKET, or_else |table| Ok(table.setting.packet);
        /// Lengths that vary: sums of so many exponential parts, of mean packet in all. Default all of packet.
        erlang: Option<u8> = whole_number::<u8>(1, MOST_PHASES), optional;
    }
    finish |lengths: Lengths, table: &Table<'_>| match lengths.erlang {
        Some(_) if lengths.packet > LARGEST_MEAN => {
            Err(table.bad("packet", BadValue::new(format!("at most {LARGEST_MEAN} with lengths that vary"))))
        }
        _ => Ok(lengths),
    };
}

table! {
    /// Poisson packets whose rate follows a Markov chain (MMPP), over UDP.
    pub struct Mmpp {
        + ECN;
        + START;
        /// The packets.
        ..lengths: Lengths;
        /// What brings them.
        ..chain: MmppChain;
    }
}

table! {
    /// Packets that a Markov chain brings with its moves (MAP), over UDP.
    pub struct Map {
        + ECN;
        + START;
        /// The packets.
        ..lengths: Lengths;
        /// What brings them.
        ..chain: MapChain;
    }
}

/// A chain whose packets come in its states, each at a rate of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct MmppChain(pub Arc<Chain>);

/// A chain whose moves bring packets.
#[derive(Clone, Debug, PartialEq)]
pub struct MapChain(pub Arc<Chain>);

const OF_MMPP: &[Key] = &[
    need(
        "rates",
        || schema::many(schema::quantity()),
        "Packets per second in each state, such as 200/s or 0/s; or bit rates.",
    ),
    may("generator", matrix, "Moves per second from state to state, rows with sum 0; or else sojourns."),
    may("sojourns", || schema::many(schema::quantity()), "Mean times in each of two states, in place of generator."),
];

const OF_MAP: &[Key] = &[
    need("d0", matrix, "Moves per second without a packet; rows have sum 0 together with those of d1."),
    need("d1", matrix, "Moves per second that bring a packet, also from a state to itself."),
];

/// Rows of numbers.
fn matrix() -> Json {
    schema::many(schema::many(schema::quantity()))
}

impl Keys for MmppChain {
    fn keys() -> Vec<Key> {
        OF_MMPP.to_vec()
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        // In packets of this length, a bit rate is a rate of packets.
        mmpp(table, Lengths::read(table)?.packet).map(|chain| Self(Arc::new(chain)))
    }
    fn write(&self, out: &mut Text) {
        let rates = self.0.packets.iter().enumerate().map(|(i, row)| row[i]);
        out.set("rates", list(rates.map(|rate| quote(&format!("{rate}/s")))));
        out.set("generator", show(&self.0.generator()));
    }
}

impl Keys for MapChain {
    fn keys() -> Vec<Key> {
        OF_MAP.to_vec()
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        map(table).map(|chain| Self(Arc::new(chain)))
    }
    fn write(&self, out: &mut Text) {
        out.set("d0", show(&self.0.without()));
        out.set("d1", show(&self.0.with()));
    }
}

impl Lengths {
    /// Packets that `chain` brings to all flows of a group, each of which is in a state of its own.
    fn brought_by(&self, chain: &Chain) -> Vec<Part> {
        let chain = Arc::new(chain::Chain::new(&chain.moves, &chain.packets, &chain.shares()));
        Part::datagrams(Pattern::Chain { chain, sizes: self.erlang.map_or(Sizes::Constant, Sizes::Erlang) })
    }
}

impl Source for Mmpp {
    fn packet(&self, _: u32) -> u32 {
        self.lengths.packet
    }
    fn parts(&self, _: bool) -> Vec<Part> {
        self.lengths.brought_by(&self.chain.0)
    }
}

impl Source for Map {
    fn packet(&self, _: u32) -> u32 {
        self.lengths.packet
    }
    fn parts(&self, _: bool) -> Vec<Part> {
        self.lengths.brought_by(&self.chain.0)
    }
}

/// The chain of kind `mmpp`, of packets of `packet` bytes.
fn mmpp(table: &Table<'_>, packet: u32) -> Result<Chain, InputError> {
    const RATES: &str = "a list of rates, one for each state, such as [\"200/s\", \"0/s\"]";
    let node = table.node("rates", RATES)?;
    let read = |(item, path): (&Node, String)| quantity(item, &path, |words| packet_rate(words, packet));
    let rates: Vec<f64> = table.list("rates", RATES)?.into_iter().map(read).collect::<Result<_, _>>()?;
    if rates.is_empty() || rates.len() > MOST_STATES {
        return Err(node.error(table.path_of("rates"), format!("{RATES}, at most {MOST_STATES}")));
    }
    let n = rates.len();
    let (key, moves) = match (table.get("generator"), table.get("sojourns")) {
        (Some(_), None) => ("generator", square(table, "generator", Some(n))?),
        (None, Some(_)) => ("sojourns", two_states(table, n)?),
        (None, None) if n == 1 => ("rates", vec![vec![0.0]]),
        (None, None) => return Err(table.missing("generator", "generator, or for two states sojourns")),
        (Some(_), Some(_)) => return Err(table.bad("sojourns", BadValue::new("generator or sojourns, not both"))),
    };
    let diagonal = |i: usize| (0..n).map(|j| if i == j { rates[i] } else { 0.0 }).collect();
    let packets = (0..n).map(diagonal).collect();
    if key == "generator" {
        sums(table, key, &moves, None)?;
    }
    sound(table, key, "rates", Chain { moves: without_diagonal(moves), packets })
}

/// The chain of kind `map`.
fn map(table: &Table<'_>) -> Result<Chain, InputError> {
    let moves = square(table, "d0", None)?;
    let packets = square(table, "d1", Some(moves.len()))?;
    if let Some((i, j)) = cells(&packets).find(|(i, j)| packets[*i][*j] < 0.0) {
        return Err(at_cell(table, "d1", (i, j), "a rate of at least 0"));
    }
    sums(table, "d0", &moves, Some(&packets))?;
    sound(table, "d0", "d1", Chain { moves: without_diagonal(moves), packets })
}

/// Refuses a chain that stays in some of its states for good, or brings no packets, or hardly any.
fn sound(
    table: &Table<'_>,
    of_moves: &'static str,
    of_packets: &'static str,
    chain: Chain,
) -> Result<Chain, InputError> {
    if let Some((from, to)) = cut_off(&chain.generator()) {
        let accepts =
            format!("a chain that comes from every state to every other, not one without a way from {from} to {to}");
        return Err(table.bad(of_moves, BadValue::new(accepts)));
    }
    if chain.packets.iter().flatten().all(|rate| *rate <= 0.0) {
        return Err(table.bad(of_packets, BadValue::new("a rate above 0 in some state")));
    }
    match chain.most_moves() {
        Some(most) if most <= MOST_MOVES => Ok(chain),
        _ => Err(table.bad(of_packets, BadValue::new("a packet in a million moves, on average from every state"))),
    }
}

/// Packets per second: `200/s`, also 0, or a bit rate.
fn packet_rate(words: &str, packet: u32) -> Parsed<f64> {
    const ACCEPTS: &str = "packets per second such as 200/s or 0/s, or a bit rate such as 2mbit";
    let bad = || BadValue::new(ACCEPTS);
    let rate = match words.trim().strip_suffix("/s") {
        Some(number) => text::number(number).map_err(|_| bad())?,
        None => {
            let rate = text::rate(words).map_err(|other| BadValue { hint: other.hint, ..bad() })?;
            rate.0 as f64 / (8.0 * f64::from(packet))
        }
    };
    if (0.0..=FASTEST).contains(&rate) { Ok(rate) } else { Err(bad().hint("from 0/s to 1e6/s")) }
}

fn two_states(table: &Table<'_>, states: usize) -> Result<Vec<Vec<f64>>, InputError> {
    const ACCEPTS: &str = "two mean times, with two rates";
    let items = table.list("sojourns", ACCEPTS)?;
    let [first, second] = items.as_slice() else { return Err(table.bad("sojourns", BadValue::new(ACCEPTS))) };
    if states != 2 {
        return Err(table.bad("sojourns", BadValue::new(ACCEPTS)));
    }
    let leaves = |(item, path): &(&Node, String)| {
        quantity(item, path, duration).and_then(|stay| {
            let rate = 1.0 / stay.secs();
            if rate <= FASTEST { Ok(rate) } else { Err(item.error(path, "a mean time of at least 1us")) }
        })
    };
    let (first, second) = (leaves(first)?, leaves(second)?);
    Ok(vec![vec![-first, first], vec![second, -second]])
}

/// A square matrix of numbers, of this size if one is given.
fn square(table: &Table<'_>, key: &'static str, size: Option<usize>) -> Result<Vec<Vec<f64>>, InputError> {
    const ACCEPTS: &str = "rows of numbers per second, such as [[-2, 2], [3, -3]]";
    let rows = table.list(key, ACCEPTS)?;
    let n = size.unwrap_or(rows.len());
    if rows.is_empty() || rows.len() != n || n > MOST_STATES {
        let size = size.map_or_else(|| format!("1 to {MOST_STATES} rows"), |n| format!("{n} rows"));
        return Err(table.bad(key, BadValue::new(format!("{size}, such as [[-2, 2], [3, -3]]"))));
    }
    let row = |(node, path): (&Node, String)| {
        let Value::List(items) = &node.value else { return Err(node.error(path, ACCEPTS)) };
        if items.len() != n {
            return Err(node.error(path, format!("a row of {n} numbers")));
        }
        let cell = |(j, item): (usize, &Node)| quantity(item, &format!("{path}[{j}]"), cell_rate);
        items.iter().enumerate().map(cell).collect()
    };
    rows.into_iter().map(row).collect()
}

fn cell_rate(words: &str) -> Parsed<f64> {
    // The diagonal is the sum of a row, of up to 64 moves and as many packets.
    let most = FASTEST * 2.0 * MOST_STATES as f64;
    let rate = text::number(words).ok().filter(|rate| (-most..=FASTEST).contains(rate));
    rate.ok_or_else(|| BadValue::new("a number per second, at most 1e6"))
}

/// Refuses negative rates off the diagonal, and rows whose sum, with that of `more`, is not 0.
fn sums(table: &Table<'_>, key: &'static str, moves: &[Vec<f64>], more: Option<&[Vec<f64>]>) -> Result<(), InputError> {
    if let Some(cell) = cells(moves).find(|(i, j)| i != j && moves[*i][*j] < 0.0) {
        return Err(at_cell(table, key, cell, "a rate of at least 0 beside the diagonal"));
    }
    for (i, row) in moves.iter().enumerate() {
        let all = || row.iter().chain(more.map_or(&[][..], |more| &more[i]));
        let (sum, largest) = (all().sum::<f64>(), all().fold(0.0, |most: f64, cell| most.max(cell.abs())));
        if sum.abs() > OFF * largest {
            let with = if more.is_some() { ", together with that of d1," } else { "" };
            let accepts = format!("a row whose sum{with} is 0, not {sum}");
            return Err(at_row(table, key, i, accepts));
        }
    }
    Ok(())
}

fn cells(matrix: &[Vec<f64>]) -> impl Iterator<Item = (usize, usize)> {
    let n = matrix.len();
    (0..n * n).map(move |cell| (cell / n, cell % n))
}

fn at_row(table: &Table<'_>, key: &'static str, i: usize, accepts: impl Into<String>) -> InputError {
    let path = format!("{}[{i}]", table.path_of(key));
    match table.get(key).and_then(|node| node.step(&i.to_string())) {
        Some(row) => row.error(path, accepts),
        None => table.missing(key, &accepts.into()),
    }
}

fn at_cell(table: &Table<'_>, key: &'static str, (i, j): (usize, usize), accepts: &str) -> InputError {
    let path = format!("{}[{i}][{j}]", table.path_of(key));
    let node = table.get(key).and_then(|node| node.step(&i.to_string())).and_then(|row| row.step(&j.to_string()));
    node.map_or_else(|| table.missing(key, accepts), |cell| cell.error(path, accepts))
}

fn without_diagonal(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    matrix.iter_mut().enumerate().for_each(|(i, row)| row[i] = 0.0);
    matrix
}

/// A matrix as the file has it.
fn show(matrix: &Matrix) -> String {
    let row = |i: usize| {
        let cells = matrix.row(i).iter().map(|cell| format!("{cell:?}"));
        format!("[{}]", cells.collect::<Vec<_>>().join(", "))
    };
    format!("[{}]", (0..matrix.rows()).map(row).collect::<Vec<_>>().join(", "))
}
