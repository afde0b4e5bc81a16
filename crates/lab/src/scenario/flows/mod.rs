//! `[[flows]]`: the traffic. Each kind of traffic has a table in a file of this folder, and a line in `kinds!`. Related
//! kinds share a file.

mod bursts;
mod cbr;
mod chain;
mod ecn;
mod files;
mod group;
mod marker;
mod replay;
mod rtp;
mod rtt;
mod tcp;
mod video;
mod voip;

use forebay_sim::network::Traffic;
use forebay_sim::source::Pattern;
use serde_json::Value as Json;

use super::topology::Topology;
use crate::declare::{self, Key, Keys, Setting, Table, Uniform, names, schema};
use crate::document::{Node, Text, Value, paths};
use crate::input::InputError;
use crate::traces::Recorded;

pub use bursts::{Bursts, OnOff, Pareto};
pub use cbr::{Cbr, Spacing};
pub use chain::{Chain, Lengths, Map, MapChain, Mmpp, MmppChain};
pub use ecn::Ect;
pub use files::{File, Web};
pub use group::{Class, Direction, FlowGroup};
pub use marker::{Marker, Per};
pub use replay::{Begin, Packets, Play, Trace};
pub use rtp::{Control, Frames, Nada, Rtp, Synthetic};
pub use rtt::Rtt;
pub use tcp::{Ftp, Sctp, ShortTcp};
pub use video::{Adapt, Video};
pub use voip::{Codec, Voip};

pub(crate) use group::write;

/// Most flows of a scenario, including the expected number of flows that arrive at random. Memory for all of them is
/// allocated at the start.
pub(crate) const MAX_FLOWS: u32 = 1_000_000;

/// Largest mean of exponential packet sizes: a fraction of 1e-7 of the packets exceeds 65,535 bytes.
const LARGEST_MEAN: u32 = 4096;

/// A kind of traffic in the simulator.
pub(crate) trait Source {
    /// TCP options, if this kind of traffic uses TCP or SCTP.
    fn tcp(&self) -> Option<forebay_sim::tcp::TcpOptions> {
        None
    }

    /// Size of a data packet in bytes (for recordings the largest); `default` is the scenario's packet size.
    fn packet(&self, default: u32) -> u32 {
        default
    }

    /// Largest packet that receivers send, in bytes; 0 if they send none.
    fn answer(&self) -> u32 {
        self.tcp().map_or(0, |tcp| u32::from(tcp.ack))
    }

    /// How flows of this kind arrive at random; `None` if they begin with their active windows.
    fn arrivals(&self) -> Option<Arrivals> {
        None
    }

    /// The recording that this kind of traffic replays, if any.
    fn recorded(&self) -> Option<&Recorded> {
        None
    }

    /// The traffic of each flow, in one or more parts. The simulator has a flow for each part; these flows start and
    /// stop at the same times. `ecn`: whether connections use ECN.
    fn parts(&self, ecn: bool) -> Vec<Part>;
}

/// Flows that arrive at random and leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// New flows per second (Poisson).
    pub rate: f64,
    /// Lifetime of a flow.
    pub lifetime: Uniform,
}

/// A part of the traffic of a flow: the traffic of one flow in the simulator.
pub(crate) struct Part {
    /// Service class of the part's packets, if a recording gives it.
    pub(crate) class: Option<u8>,
    /// Returns the traffic. The argument is the position in a recording where it begins, as a fraction from 0 to 1.
    pub(crate) traffic: Box<dyn Fn(f64) -> Traffic>,
}

impl Part {
    /// The whole traffic of a flow as a single part (one flow in the simulator). It is the same for all flows of the
    /// group.
    fn only(traffic: Traffic) -> Vec<Self> {
        vec![Self { class: None, traffic: Box::new(move |_| traffic.clone()) }]
    }

    /// The whole traffic of a flow as a single part (one flow in the simulator): datagrams with this pattern.
    fn datagrams(pattern: Pattern) -> Vec<Self> {
        Self::only(Traffic::Datagrams(pattern))
    }
}

/// Declares every kind of traffic: its type, its name, and after `later` the keys that it does not support yet.
macro_rules! kinds {
    (@later) => { &[] };
    (@later $later:expr) => { $later };
    ($( $Kind:ident $word:literal $(later $later:expr)? ),* $(,)?) => {
        /// Kind of traffic of a group.
        #[derive(Clone, Debug, PartialEq)]
        pub enum FlowKind { $( #[doc = concat!("Kind `", $word, "`.")] $Kind($Kind), )* }

        static KINDS: &[Kind] = &[$( Kind {
            word: $word,
            doc: $Kind::DOC,
            keys: $Kind::keys,
            later: kinds!(@later $($later)?),
            read: |table| $Kind::read(table).map(FlowKind::$Kind),
        } ),*];

        impl FlowKind {
            /// Name in scenarios.
            pub const fn word(&self) -> &'static str {
                match self { $( Self::$Kind(_) => $word, )* }
            }

            fn source(&self) -> &dyn Source {
                match self { $( Self::$Kind(kind) => kind, )* }
            }

            fn write(&self, out: &mut Text) {
                match self { $( Self::$Kind(kind) => kind.write(out), )* }
            }
        }
    };
}

// One line per kind, in the order of messages and of the schema.
kinds! {
    Ftp "ftp",
    Web "web",
    ShortTcp "short-tcp",
    File "file",
    Cbr "cbr",
    OnOff "onoff",
    Pareto "pareto",
    Voip "voip",
    Mmpp "mmpp",
    Map "map",
    Trace "trace" later &["size"],
    Rtp "rtp" later &["size", "nack"],
    Sctp "sctp",
    Video "video",
}

/// A kind of traffic, from a line of `kinds!`.
struct Kind {
    word: &'static str,
    doc: &'static str,
    keys: fn() -> Vec<Key>,
    later: &'static [&'static str],
    read: fn(&Table<'_>) -> Result<FlowKind, InputError>,
}

impl Kind {
    /// Keys of a table `[[flows]]` (a group of flows) with this kind of traffic, except the key `kind`.
    fn all_keys(&self) -> Vec<Key> {
        [FlowGroup::keys(), (self.keys)()].concat()
    }

    fn all_names(&self) -> Vec<&'static str> {
        [vec!["kind"], names(&self.all_keys())].concat()
    }

    /// Whether this kind of traffic has `key`, which not all kinds have.
    fn has(&self, key: &Key) -> bool {
        (self.keys)().iter().any(|other| other.name == key.name)
    }

    fn named(word: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.word == word)
    }

    /// The kind of traffic of the group of flows that `table` describes.
    fn of(table: &Table<'_>) -> Result<&'static Self, InputError> {
        table.word("kind", None, &KINDS.iter().map(|kind| (kind.word, kind)).collect::<Vec<_>>())
    }
}

impl FlowKind {
    /// Reads the kind of the group `table` and its keys; refuses keys of other kinds.
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        let kind = Kind::of(table)?;
        table.expect(&kind.all_names(), kind.later).map_err(|error| belongs_elsewhere(error, kind))?;
        (kind.read)(table)
    }

    /// TCP options, if this kind of traffic uses TCP or SCTP.
    pub fn tcp(&self) -> Option<forebay_sim::tcp::TcpOptions> {
        self.source().tcp()
    }

    /// Size of a data packet in bytes (for recordings the largest); `default` is the scenario's packet size.
    pub fn packet(&self, default: u32) -> u32 {
        self.source().packet(default)
    }

    /// Largest packet that receivers send, in bytes; 0 if they send none.
    pub(crate) fn answer(&self) -> u32 {
        self.source().answer()
    }

    /// How flows of this kind arrive at random; `None` if they begin with their active windows.
    pub fn arrivals(&self) -> Option<Arrivals> {
        self.source().arrivals()
    }

    /// Number of connections of each flow of the group; more than 1 for pages of several objects.
    pub(crate) const fn connections(&self) -> u32 {
        if let Self::Web(web) = self { web.connections } else { 1 }
    }

    /// The codec of calls; `None` for other kinds.
    pub fn codec(&self) -> Option<Codec> {
        if let Self::Voip(call) = self { Some(call.codec) } else { None }
    }

    /// The recording that this kind of traffic replays, if any.
    pub fn recorded(&self) -> Option<&Recorded> {
        self.source().recorded()
    }

    /// Traffic of each flow; see [`Source::parts`].
    pub(crate) fn parts(&self, ecn: bool) -> Vec<Part> {
        self.source().parts(ecn)
    }
}

/// All kinds of flows.
pub(crate) fn flow_kinds() -> Vec<declare::Kind> {
    KINDS.iter().map(|kind| declare::Kind { word: kind.word, doc: kind.doc, keys: kind.all_keys() }).collect()
}

/// JSON Schema of `[[flows]]`.
pub(crate) fn schema() -> Json {
    schema::many(schema::one_of(flow_kinds().iter().map(declare::Kind::schema).collect()))
}

/// Adds to the error about a key a hint that names the kinds of traffic that have this key.
fn belongs_elsewhere(error: InputError, kind: &Kind) -> InputError {
    let key = error.found.as_str();
    if kind.later.contains(&key) {
        return error;
    }
    let others = KINDS.iter().filter(|other| other.all_names().contains(&key));
    let kinds: Vec<&str> = others.map(|other| other.word).collect();
    let hint = (!kinds.is_empty()).then(|| format!("{key} belongs to kind {}", kinds.join(", ")));
    let hint = hint.or_else(|| error.hint.clone());
    error.hint(hint)
}

/// Reads every group of flows. `packet` is the scenario's packet size, `net` its network.
pub(crate) fn flows(node: &Node, packet: u32, net: &Topology) -> Result<Vec<FlowGroup>, InputError> {
    const ACCEPTS: &str = "one or more [[flows]] tables";
    let items = match &node.value {
        Value::List(items) if !items.is_empty() => items,
        Value::Table(_) => return Err(node.error("flows", ACCEPTS).hint("write [[flows]], not [flows]".to_string())),
        _ => return Err(node.error("flows", ACCEPTS)),
    };
    let mut out: Vec<FlowGroup> = Vec::with_capacity(items.len());
    for (i, (item, name)) in items.iter().zip(paths::names("flows", items)).enumerate() {
        let name = name.unwrap_or_else(|| i.to_string());
        let setting = Setting { packet, ..Setting::default() };
        let group = group::group(&Table::bare(item, &format!("flows.{name}"), setting)?, net)?;
        if out.iter().any(|other| other.name == group.name) {
            let at = item.get("name").unwrap_or(item);
            return Err(at.error(format!("flows.{name}.name"), "a name unique among groups"));
        }
        out.push(group);
    }
    Ok(out)
}
