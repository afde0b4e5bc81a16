//! The queues of ns-2 that correspond to our disciplines, with the same parameters under ns-2's names.

use forebay_aqm::Spec;
use forebay_aqm::base::text;
use forebay_aqm::base::units::{Depth, Limit, Link};
use forebay_sim::network::LinkSpec;

/// A queue of ns-2: arguments of `validation/ns2/network.tcl`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Queue {
    class: &'static str,
    limit: u64,
    settings: Vec<(&'static str, String)>,
}

/// Our names of the disciplines that ns-2 has too.
const OPPONENTS: [&str; 8] = ["droptail", "red", "ared", "feng_red", "pi", "rem", "avq", "rio"];

/// Constants of ns-2 that cannot be set: the adaptation speed of Vq, and the weight of the queue in REM.
const VQ_ALPHA: f64 = 0.15;
const REM_ALPHA: f64 = 0.1;

/// Whether ns-2 has a discipline of this name.
pub(super) fn is_opponent(spec: &Spec) -> bool {
    OPPONENTS.contains(&spec.name())
}

impl Queue {
    /// The queue of ns-2 that corresponds to `spec` at `link`. An error says which parameter ns-2 lacks.
    pub(super) fn of(spec: &Spec, link: &LinkSpec) -> Result<Self, String> {
        let values = Values(spec);
        let facts = Link { rate: link.lane.rate, limit: link.lane.limit, mean_packet: link.mean_packet };
        let facts = spec.link(&facts);
        match spec.name() {
            "droptail" => values.drop_tail(&facts),
            "red" => {
                values.must("idle", "on")?;
                values.only_forced_drops()?;
                values.red(&facts, Vec::new())
            }
            "ared" => values.ared(&facts),
            "feng_red" => values.feng_red(&facts),
            "pi" => values.pi(&facts),
            "rem" => values.rem(&facts),
            "avq" => values.vq(&facts),
            "rio" => values.rio(&facts),
            other => Err(format!("ns-2 has no {other}")),
        }
    }

    /// The arguments LIMIT, CLASS and NAME VALUE of `network.tcl`.
    pub(super) fn arguments(&self) -> Vec<String> {
        let settings = self.settings.iter().flat_map(|(name, value)| [(*name).to_string(), value.clone()]);
        [self.limit.to_string(), self.class.to_string()].into_iter().chain(settings).collect()
    }
}

/// A buffer in packets, or an error for one in bytes.
fn packets(limit: Limit) -> Result<u64, String> {
    match limit {
        Limit::Packets(packets) => Ok(u64::from(packets)),
        Limit::Bytes(_) => Err("a buffer in bytes".to_string()),
    }
}

fn flag(on: bool) -> String {
    u8::from(on).to_string()
}

/// Reads the parameters of a discipline, as arguments for ns-2.
struct Values<'a>(&'a Spec);

impl Values<'_> {
    fn word(&self, key: &str) -> Result<String, String> {
        self.0.get(key).ok_or_else(|| format!("no parameter {key}"))
    }

    /// The value of a parameter as a number; a time in seconds, a length in bytes. `None`: the value is `auto`.
    fn number(&self, key: &str) -> Result<Option<f64>, String> {
        let word = self.word(key)?;
        if word == "auto" {
            return Ok(None);
        }
        let read = text::number(&word).or_else(|_| text::span(&word).map(|span| span.secs()));
        read.or_else(|_| text::bytes(&word).map(|b| b.0 as f64)).map(Some).map_err(|_| format!("{key}={word}"))
    }

    fn given(&self, key: &str) -> Result<String, String> {
        self.number(key)?.map(|x| x.to_string()).ok_or_else(|| format!("{key}=auto"))
    }

    /// The value of a parameter as a queue length in packets of `mean` bytes, and whether it is given in bytes. `None`:
    /// the value is `auto`.
    fn depth(&self, key: &str, mean: f64) -> Result<Option<(f64, bool)>, String> {
        let word = self.word(key)?;
        if word == "auto" {
            return Ok(None);
        }
        match text::depth(&word) {
            Ok(Depth::Packets(n)) => Ok(Some((n, false))),
            Ok(Depth::Bytes(n)) => Ok(Some((n / mean, true))),
            Err(_) => Err(format!("{key}={word}")),
        }
    }

    fn is(&self, key: &str, word: &str) -> Result<bool, String> {
        Ok(self.word(key)? == word)
    }

    fn switch(&self, key: &str) -> Result<String, String> {
        Ok(flag(self.is(key, "on")?))
    }

    /// Returns an error unless the parameter has this value, the only one that ns-2 implements.
    fn must(&self, key: &str, value: &str) -> Result<(), String> {
        let word = self.word(key)?;
        if word == value { Ok(()) } else { Err(format!("ns-2 has no {key}={word}")) }
    }

    fn mean(&self, link: &Link) -> Result<f64, String> {
        Ok(self.number("mean_packet")?.unwrap_or(link.mean_packet.0 as f64))
    }

    /// ns-2's drop-tail holds one packet, or byte, less than its limit.
    fn drop_tail(&self, link: &Link) -> Result<Queue, String> {
        self.must("front", "off")?;
        let (limit, settings) = match link.limit {
            Limit::Packets(packets) => (u64::from(packets) + 1, vec![("queue_in_bytes_", flag(false))]),
            Limit::Bytes(bytes) => (bytes + 1, vec![("queue_in_bytes_", flag(true)), ("mean_pktsize_", flag(true))]),
        };
        Ok(Queue { class: "DropTail", limit, settings })
    }

    /// Checks the settings that ns-2's RED implies: above the upper threshold it drops ECT packets too, and it drops
    /// packets that it cannot mark.
    fn only_forced_drops(&self) -> Result<(), String> {
        self.must("harddrop", "on")?;
        self.must("nodrop", "off")
    }

    /// ns-2's RED with the settings `more`. Thresholds, average and buffer must have the same unit.
    fn red(&self, link: &Link, more: Vec<(&'static str, String)>) -> Result<Queue, String> {
        self.must("rule", "ns2")?;
        let mean = self.mean(link)?;
        let (low, high) = (self.depth("min_th", mean)?, self.depth("max_th", mean)?);
        let in_bytes = low.or(high).map_or(self.is("bytes", "on")?, |(_, in_bytes)| in_bytes);
        let limit = match link.limit {
            Limit::Packets(packets) if !in_bytes => u64::from(packets),
            limit => (Link { limit, ..*link }.limit_bytes() / mean).round() as u64,
        };
        let weight = match self.number("w_q")? {
            Some(weight) => weight.to_string(),
            None => match self.word("auto_w")?.as_str() {
                "rtts" => "-1",
                "second" => "0",
                _ => "-2",
            }
            .to_string(),
        };
        let max_p: f64 = self.given("max_p")?.parse().map_err(|_| "max_p".to_string())?;
        let mut settings = vec![
            ("bytes_", self.switch("bytes")?),
            ("queue_in_bytes_", flag(in_bytes)),
            ("mean_pktsize_", mean.to_string()),
            // 0: automatic.
            ("thresh_", low.map_or(0.0, |(n, _)| n).to_string()),
            ("maxthresh_", high.map_or(0.0, |(n, _)| n).to_string()),
            ("q_weight_", weight),
            ("linterm_", (1.0 / max_p).to_string()),
            ("gentle_", self.switch("gentle")?),
            ("wait_", self.switch("wait")?),
            ("use_mark_p_", self.switch("use_mark_p")?),
            ("mark_p_", self.given("mark_p")?),
            ("setbit_", flag(self.0.ecn())),
        ];
        settings.extend(more);
        Ok(Queue { class: "RED", limit, settings })
    }

    fn ared(&self, link: &Link) -> Result<Queue, String> {
        self.only_forced_drops()?;
        let settings = vec![
            ("adaptive_", flag(true)),
            ("targetdelay_", self.given("target")?),
            ("interval_", self.given("interval")?),
            ("alpha_", self.given("alpha")?),
            ("beta_", self.given("beta")?),
            ("top_", self.given("top")?),
            // 0: automatic.
            ("bottom_", self.number("bottom")?.unwrap_or(0.0).to_string()),
        ];
        self.red(link, settings)
    }

    fn feng_red(&self, link: &Link) -> Result<Queue, String> {
        let settings = vec![
            ("adaptive_", flag(true)),
            ("feng_adaptive_", flag(true)),
            ("alpha_", self.given("alpha")?),
            ("beta_", self.given("beta")?),
        ];
        self.red(link, settings)
    }

    fn pi(&self, link: &Link) -> Result<Queue, String> {
        let mean = link.mean_packet.0 as f64;
        let (target, in_bytes) = self.depth("q_ref", mean)?.ok_or("q_ref=auto")?;
        if in_bytes {
            return Err("a target in bytes".to_string());
        }
        let settings = vec![
            ("bytes_", flag(false)),
            ("queue_in_bytes_", flag(false)),
            ("mean_pktsize_", mean.to_string()),
            ("qref_", target.to_string()),
            ("a_", self.given("a")?),
            ("b_", self.given("b")?),
            ("w_", self.given("w")?),
            ("setbit_", flag(self.0.ecn())),
        ];
        Ok(Queue { class: "PI", limit: packets(link.limit)?, settings })
    }

    /// ns-2's REM holds one packet less than its limit.
    fn rem(&self, link: &Link) -> Result<Queue, String> {
        self.must("alpha", &REM_ALPHA.to_string())?;
        let mean = self.mean(link)?;
        let (target, _) = self.depth("b", mean)?.ok_or("b=auto")?;
        if self.is("bytes", "on")? {
            return Err("REM in bytes".to_string());
        }
        let settings = vec![
            ("qib_", flag(false)),
            ("mean_pktsize_", mean.to_string()),
            ("pbo_", target.to_string()),
            ("gamma_", self.given("gamma")?),
            ("phi_", self.given("phi")?),
            ("pupdtime_", self.given("interval")?),
            ("markpkts_", flag(self.0.ecn())),
        ];
        Ok(Queue { class: "REM", limit: packets(link.limit)? + 1, settings })
    }

    /// ns-2's AVQ (`Vq`), whose virtual buffer is a share of the real one.
    fn vq(&self, link: &Link) -> Result<Queue, String> {
        self.must("alpha", &VQ_ALPHA.to_string())?;
        let mean = link.mean_packet.0 as f64;
        let real = link.limit_bytes() / mean;
        let virtual_buffer = self.depth("limit", mean)?.map_or(real, |(n, _)| n);
        let settings = vec![
            ("queue_in_bytes_", self.switch("bytes")?),
            ("mean_pktsize_", mean.to_string()),
            ("gamma_", self.given("gamma")?),
            ("ecnlim_", self.given("ecnlim")?),
            ("buflim_", (virtual_buffer / real).to_string()),
            ("markpkts_", flag(self.0.ecn())),
        ];
        Ok(Queue { class: "Vq", limit: real.round() as u64, settings })
    }

    fn rio(&self, link: &Link) -> Result<Queue, String> {
        let mean = self.mean(link)?;
        let (inside, outside) = (self.band("in")?, self.band("out")?);
        let gentle = self.switch("gentle")?;
        let settings = vec![
            ("bytes_", self.switch("bytes")?),
            ("queue_in_bytes_", flag(false)),
            ("mean_pktsize_", mean.to_string()),
            ("in_thresh_", inside[0].clone()),
            ("in_maxthresh_", inside[1].clone()),
            ("in_linterm_", inside[2].clone()),
            ("out_thresh_", outside[0].clone()),
            ("out_maxthresh_", outside[1].clone()),
            // ns-2 reads no out_linterm_.
            ("linterm_", outside[2].clone()),
            ("q_weight_", self.given("w_q")?),
            ("in_gentle_", gentle.clone()),
            ("out_gentle_", gentle),
            ("wait_", self.switch("wait")?),
            ("setbit_", flag(self.0.ecn())),
        ];
        Ok(Queue { class: "RED/RIO", limit: packets(link.limit)?, settings })
    }

    /// RIO's lower and upper threshold in packets, and the inverse of the probability at the upper one.
    fn band(&self, key: &str) -> Result<[String; 3], String> {
        let word = self.word(key)?;
        let parts: Vec<&str> = word.split('/').collect();
        let threshold = |part: &str| match text::depth(part) {
            Ok(Depth::Packets(n)) => Ok(n.to_string()),
            _ => Err(format!("{key}={word}: thresholds not in packets")),
        };
        let [low, high, p] = parts[..] else { return Err(format!("{key}={word}")) };
        let p: f64 = p.parse().map_err(|_| format!("{key}={word}"))?;
        Ok([threshold(low)?, threshold(high)?, (1.0 / p).to_string()])
    }
}
