//! The BPF program of `forebay attach`, which marks and drops packets: loads it, attaches it to the egress of a device,
//! and pins it so that it outlives the daemon that controls it.

use std::error::Error;
use std::io;
use std::path::Path;

use aya::maps::{Array, Map, MapData, PerCpuArray};
use aya::programs::links::FdLink;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};
use aya::{Btf, EbpfLoader};

use super::fault::{Fault, chain};
use super::kind::Kind;
use super::place::{self, Lock};
use super::qdisc::tc;
use super::state::State;
use super::words::{Counters, SETTINGS, Settings, TALLY};
use crate::sys::attach_process::{monotonic, raise_memory_limit};

/// Aligns the BPF object file, which is compiled from `bpf/aqm.bpf.c`. A test of `xtask` checks that it matches its
/// source.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);
static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!("../../../bpf/aqm.bpf.o"));

/// Names of the program and the maps in the object file, and of their pins.
const PROGRAM: &str = "forebay";
const SETTINGS_MAP: &str = "settings";
const TALLIES_MAP: &str = "tallies";
const LINK: &str = "link";
/// Preference and handle of our clsact filter. By default tc(8) assigns 49152 and 1.
const PREFERENCE: &str = "64251";
const FILTER: &str = "0xfb";

/// The BPF maps of an attached program: its settings and its counters.
pub(in crate::attach) struct FastPath {
    settings: Array<MapData, [u64; SETTINGS]>,
    tallies: PerCpuArray<MapData, [u64; TALLY]>,
}

impl FastPath {
    /// Loads the program and attaches it to the egress of the device.
    pub(in crate::attach) fn put(kind: Kind, state: &mut State, lock: &Lock) -> Result<Self, Fault> {
        raise_memory_limit();
        let btf = Btf::from_sys_fs().map_err(|error| {
            Fault::Unavailable(format!("BPF: the kernel does not describe its types: {}", chain(&error)))
        })?;
        let loaded = EbpfLoader::new().btf(Some(&btf)).load(&OBJECT.0);
        let mut object = loaded.map_err(|error| refused("load the maps", &error))?;
        let program = object.program_mut(PROGRAM).ok_or_else(|| Fault::Failed("BPF: no program".into()))?;
        let program: &mut SchedClassifier = program.try_into().map_err(|error| refused("load the program", &error))?;
        program.load().map_err(|error| refused("load the program", &error))?;
        let pins = place::pins(&state.key());
        // Leftover pins belong to a deleted namespace whose number was reused.
        place::remove_pins(&pins)?;
        place::make_pins(&pins)?;
        let mut map = |name: &str| -> Result<MapData, Fault> {
            let map = object.take_map(name).ok_or_else(|| Fault::Failed(format!("BPF: no map {name}")))?;
            let (Map::Array(data) | Map::PerCpuArray(data)) = map else {
                return Err(Fault::Failed(format!("BPF: {name} is another kind of map")));
            };
            data.pin(pins.join(name)).map_err(|error| refused("pin a map", &error))?;
            Ok(data)
        };
        let mut path = Self::of(map(SETTINGS_MAP)?, map(TALLIES_MAP)?)?;
        // Start without signals, so that the first packets are only shaped.
        path.set(&Settings::none(state.ecn))?;
        let program = object.program_mut(PROGRAM).ok_or_else(|| Fault::Failed("BPF: no program".into()))?;
        let program: &mut SchedClassifier = program.try_into().map_err(|error| refused("load the program", &error))?;
        match kind {
            Kind::Tcx => by_link(program, &state.device, &pins)?,
            Kind::Clsact | Kind::Nft => by_filter(program, state, lock, &pins)?,
        }
        Ok(path)
    }

    /// Opens the pinned maps of the program with this key (device and namespace).
    pub(in crate::attach) fn open(key: &str) -> Result<Self, Fault> {
        let pins = place::pins(key);
        let map = |name: &str| MapData::from_pin(pins.join(name)).map_err(|error| refused("open a pinned map", &error));
        Self::of(map(SETTINGS_MAP)?, map(TALLIES_MAP)?)
    }

    fn of(settings: MapData, tallies: MapData) -> Result<Self, Fault> {
        Ok(Self {
            settings: Map::Array(settings).try_into().map_err(|error| refused("use a map", &error))?,
            tallies: Map::PerCpuArray(tallies).try_into().map_err(|error| refused("use a map", &error))?,
        })
    }

    /// Removes the program's filter, if it has one, and its pins. Without pins the kernel frees link, program and maps.
    pub(in crate::attach) fn remove(state: &State) -> Result<(), Fault> {
        // The filters of a deleted device are deleted with it.
        let swept = state.name().map_or(Ok(()), |device| sweep(&device, state));
        match swept {
            Err(fault) if state.name().is_some() => Err(fault),
            _ => place::remove_pins(&place::pins(&state.key())),
        }
    }

    /// The program's packet counters, summed over all CPUs.
    pub(in crate::attach) fn counters(&self) -> Result<Counters, Fault> {
        let all = self.tallies.get(&0, 0).map_err(|error| refused("read the counters", &error))?;
        Ok(Counters::sum(all.iter().copied()))
    }

    /// The program's settings, as the daemon wrote them last.
    pub(in crate::attach) fn settings(&self) -> Result<Settings, Fault> {
        self.settings.get(&0, 0).map(Settings::read).map_err(|error| refused("read the settings", &error))
    }

    /// Writes new settings for the program. To a packet that arrives meanwhile, some old and some new fields may apply;
    /// each field is consistent.
    pub(in crate::attach) fn set(&mut self, settings: &Settings) -> Result<(), Fault> {
        let settings = Settings { updated: monotonic(), ..*settings };
        self.settings.set(0, settings.words(), 0).map_err(|error| refused("write the settings", &error))
    }
}

/// Attaches the program as a TCX link, after existing programs.
fn by_link(program: &mut SchedClassifier, device: &str, pins: &Path) -> Result<(), Fault> {
    let options = TcAttachOptions::TcxOrder(LinkOrder::default());
    let id = program.attach_with_options(device, TcAttachType::Egress, options);
    let id = id.map_err(|error| refused("attach by TCX (Linux 6.6 and later)", &error))?;
    let link = program.take_link(id).map_err(|error| refused("attach by TCX", &error))?;
    let link: FdLink = link.try_into().map_err(|error| refused("attach by TCX", &error))?;
    link.pin(pins.join(LINK)).map(|_| ()).map_err(|error| refused("pin the link", &error))
}

/// Attaches the program as a filter of the clsact qdisc, which may exist already.
fn by_filter(program: &mut SchedClassifier, state: &mut State, lock: &Lock, pins: &Path) -> Result<(), Fault> {
    let pin = pins.join(LINK);
    program.pin(&pin).map_err(|error| refused("pin the program", &error))?;
    let device = state.device.clone();
    if !has_clsact(&device)? {
        state.made_clsact = true;
        state.write(lock)?;
        tc(&["qdisc", "add", "dev", &device, "clsact"])?;
    }
    state.filter = Some(program.info().map_err(|error| refused("read the program's number", &error))?.id());
    state.write(lock)?;
    let pin = pin.display().to_string();
    let at = ["filter", "add", "dev", &device, "egress", "protocol", "all", "pref", PREFERENCE, "handle", FILTER];
    // This fails if another filter has this preference and handle.
    let added = tc(&[&at[..], &["bpf", "direct-action", "object-pinned", &pin]].concat()).map(|_| ());
    // The filter was never installed, so a clsact that we created is unused.
    added.inspect_err(|_| state.filter = None)
}

fn has_clsact(device: &str) -> Result<bool, Fault> {
    Ok(tc(&["qdisc", "show", "dev", device])?.lines().any(|line| line.starts_with("qdisc clsact ")))
}

/// Removes our clsact filter, and clsact itself if we created it and it has no other filters.
fn sweep(device: &str, state: &State) -> Result<(), Fault> {
    if state.filter.is_none() && !state.made_clsact || !has_clsact(device)? {
        return Ok(());
    }
    let shown = tc(&["filter", "show", "dev", device, "egress", "pref", PREFERENCE])?;
    let stands = state.filter.is_some_and(|id| shown.lines().any(|line| is_filter(line, id)));
    if stands {
        let at = ["filter", "del", "dev", device, "egress", "protocol", "all", "pref", PREFERENCE, "handle", FILTER];
        tc(&[&at[..], &["bpf"]].concat())?;
    }
    // If our installed filter has disappeared, the present clsact may be someone else's.
    if !state.made_clsact || !stands && state.filter.is_some() {
        return Ok(());
    }
    for side in ["ingress", "egress"] {
        if !tc(&["filter", "show", "dev", device, side])?.trim().is_empty() {
            return Ok(());
        }
    }
    tc(&["qdisc", "del", "dev", device, "clsact"]).map(|_| ())
}

/// Does this line of tc show our filter with this program id?
fn is_filter(line: &str, id: u32) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let has = |name: &str, value: &str| words.windows(2).any(|pair| pair == [name, value]);
    has("handle", FILTER) && has("id", &id.to_string())
}

/// A fault for an operation that BPF refused.
fn refused(what: &str, error: &(dyn Error + 'static)) -> Fault {
    let mut cause = Some(error);
    let mut kind = None;
    while let Some(error) = cause {
        kind = kind.or(error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error));
        cause = error.source();
    }
    let text = format!("BPF: cannot {what}: {}", chain(error));
    match kind {
        Some(libc::ENODEV) => Fault::Unavailable(format!("{text}: the device is gone")),
        _ => Fault::Unavailable(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tc_filter_is_recognized_by_handle_and_program() {
        let line = "filter protocol all pref 64251 bpf chain 0 handle 0xfb link:[*fsobj] direct-action not_in_hw id 93 \
                    name forebay tag 0123456789abcdef jited";
        assert!(is_filter(line, 93) && !is_filter(line, 9));
        assert!(!is_filter(&line.replace("0xfb", "0x1"), 93) && !is_filter("", 93));
    }
}
