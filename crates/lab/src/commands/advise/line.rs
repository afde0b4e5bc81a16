//! The line, and the scenario of its traffic.

use std::path::Path;

use forebay_aqm::base::text::{self, show_rate, show_span};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;

use crate::input::{Found, InputError};

/// Bytes of a full packet of IP.
const MTU: u32 = 1500;
/// Packets that a run should have, so that it takes about a CPU second; and bounds on its length.
const PACKETS: f64 = 250_000.0;
const LENGTH_S: (f64, f64) = (12.0, 60.0);
/// Packets of a run on a fast line.
const MANY_PACKETS: f64 = 500_000.0;
/// Part of a run that is not measured: the bulk flows leave slow start.
const WARMUP_S: f64 = 5.0;
/// Objects of a page of the web users, and the bytes of each on the wire.
const OBJECTS: u32 = 40;
const OBJECT_BYTES: u32 = 25_000;

/// Who uses the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// Downloads and some uploads, two people who read pages, a call.
    Household,
    /// Many people who read pages, several calls, downloads and uploads.
    Office,
    /// A router's link with many flows and no single user.
    Uplink,
    /// One person who reads pages; not for users of the command.
    Idle,
}

impl Profile {
    /// The profiles with their names on the command line.
    pub const WORDS: [(&'static str, Self); 3] =
        [("household", Self::Household), ("office", Self::Office), ("uplink", Self::Uplink)];

    /// Bulk flows that are active at once unless the user says otherwise.
    const fn bulk(self) -> u32 {
        match self {
            Self::Household => 8,
            Self::Office => 16,
            Self::Uplink => 100,
            Self::Idle => 0,
        }
    }

    /// Devices behind the line. The flows of each group are spread over them in turn.
    const fn hosts(self) -> u32 {
        match self {
            Self::Household => 4,
            Self::Office => 20,
            Self::Uplink => 64,
            Self::Idle => 1,
        }
    }

    /// People who read pages, and calls.
    const fn users(self) -> (u32, u32) {
        match self {
            Self::Household => (2, 1),
            Self::Office => (20, 5),
            Self::Uplink => (20, 2),
            Self::Idle => (1, 0),
        }
    }
}

/// What the user says about the line.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// Rate of the downlink, at which no other device has a queue.
    pub rate: &'a str,
    /// Rate of the uplink; `None`: that of the downlink.
    pub up: Option<&'a str>,
    /// Round-trip times: `20ms..80ms`, a time, or a file with one in each line.
    pub rtts: &'a str,
    /// What the link adds to a packet, as tc-cake(8) writes it.
    pub overhead: Option<&'a str>,
    /// Bulk flows that are active at once; `None`: as in the profile.
    pub flows: Option<u32>,
    /// Whether some of the bulk flows are TCP Prague.
    pub l4s: bool,
    /// The users.
    pub profile: Profile,
}

/// A line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Rate of the downlink, as the user gives it.
    pub down: Rate,
    /// Rate of the uplink.
    pub up: Rate,
    /// Shortest round trip, and the one that 95 % of the flows do not exceed.
    pub rtt: (Span, Span),
    /// The value of the key `rtt` of a group of flows.
    rtts: String,
    /// What the link adds to a packet.
    pub overhead: Option<String>,
    /// Rate of the link in packets of IP, as a part of its rate.
    share: f64,
    bulk: u32,
    l4s: bool,
    profile: Profile,
}

impl Line {
    /// Reads what the user says.
    ///
    /// # Errors
    /// A rate or time is invalid, or a file cannot be read.
    pub fn read(asked: &Asked<'_>) -> Result<Self, InputError> {
        let down = rate("--rate", asked.rate)?;
        let up = asked.up.map_or(Ok(down), |up| rate("--up", up))?;
        let (times, rtts) = rtts(asked.rtts)?;
        let share = match asked.overhead {
            None => 1.0,
            Some(words) => {
                let length = forebay_aqm::queue::cake::wire_length(words, MTU).map_err(|bad| {
                    InputError::new("advise", "--overhead", Found::text(words), bad.accepts.to_string()).hint(bad.hint)
                })?;
                f64::from(MTU) / f64::from(length.max(1))
            }
        };
        let at = |p: f64| times[((p * times.len() as f64) as usize).min(times.len() - 1)];
        Ok(Self {
            down,
            up,
            rtt: (at(0.0), at(0.95)),
            rtts,
            overhead: asked.overhead.map(str::to_string),
            share,
            bulk: asked.flows.unwrap_or(asked.profile.bulk()),
            l4s: asked.l4s,
            profile: asked.profile,
        })
    }

    /// The rate of the downlink and of the uplink in packets of IP, without the overhead, in bit/s.
    pub fn ip_rates(&self) -> (f64, f64) {
        (self.down.0 as f64 * self.share, self.up.0 as f64 * self.share)
    }

    /// Seconds of a run, the warm-up included.
    fn length_s(&self) -> f64 {
        let (down, up) = self.ip_rates();
        (PACKETS * f64::from(MTU) * 8.0 / (down + up)).clamp(LENGTH_S.0, LENGTH_S.1) + WARMUP_S
    }

    /// The scenario: a dumbbell whose bottleneck is the line, in both directions. Its disciplines are replaced by the
    /// candidates.
    pub fn scenario(&self) -> String {
        let (down, up) = self.ip_rates();
        let rate = |rate: f64| show_rate(Rate(rate.round() as u64));
        let fast = rate(10.0 * down.max(up));
        let (users, calls) = self.profile.users();
        // A quarter of the bulk flows go up.
        let uploads = (self.bulk / 4).max(u32::from(self.bulk > 1));
        let downloads = self.bulk - uploads;
        let hosts = self.profile.hosts();
        let mut text = format!(
            "version = 1\ntitle = \"Advice\"\nduration = \"{:.0}s\"\nwarmup = \"{WARMUP_S}s\"\npacket = {MTU}\n\n[topology]\n\
             kind = \"dumbbell\"\nbottleneck = {{ rate = \"{}\", delay = \"1ms\", queue = \"1000p\", reverse = {{ rate = \
             \"{}\", queue = \"1000p\" }} }}\naccess = {{ hosts = {hosts}, rate = \"{fast}\", delays = [\"500us\"] }}\n\
             egress = {{ rate = \"{fast}\", delay = \"500us\" }}\n",
            self.length_s(),
            rate(down),
            rate(up),
        );
        let rtt = &self.rtts;
        let mut group = |name: &str, keys: &str, count: u32| {
            if count > 0 {
                text.push_str(&format!("\n[[flows]]\nname = \"{name}\"\ncount = {count}\nrtt = {rtt}\n{keys}\n"));
            }
        };
        let (bulk, spread) = ("kind = \"ftp\"\ntcp = \"linux\"", "start = { uniform = [\"0s\", \"1s\"] }");
        let scalable = if self.l4s { downloads / 2 } else { 0 };
        group("download", &format!("{bulk}\n{spread}"), downloads - scalable);
        group("l4s", &format!("kind = \"ftp\"\ntcp = \"l4s-linux\"\n{spread}"), scalable);
        group("upload", &format!("{bulk}\n{spread}\ndirection = \"reverse\""), uploads);
        let page = format!(
            "kind = \"web\"\ntcp = \"linux\"\nsize = \"{OBJECT_BYTES}b\"\nobjects = {OBJECTS}\nthink = {{ exponential = \"1s\" \
             }}\npersistent = false\nhandshake = true\nstart = {{ uniform = [\"0s\", \"2s\"] }}"
        );
        group("web", &page, users);
        let probe =
            "kind = \"web\"\ntcp = \"linux\"\nsize = \"1p\"\nthink = \"200ms\"\npersistent = false\nhandshake = true";
        group("probe", probe, u32::from(self.profile != Profile::Idle));
        group("call", "kind = \"voip\"\ntalk = \"1000s\"\npause = \"1ms\"", calls);
        group("call-up", "kind = \"voip\"\ntalk = \"1000s\"\npause = \"1ms\"\ndirection = \"reverse\"", calls);
        text.push_str("\n[compare]\naqm = [\"droptail\"]\n");
        text
    }

    /// Does a run have enough packets to use fewer seeds?
    pub fn is_fast(&self) -> bool {
        let (down, up) = self.ip_rates();
        self.length_s() * (down + up) / (f64::from(MTU) * 8.0) > MANY_PACKETS
    }

    /// The scenario of one person who reads pages on the idle line.
    pub fn idle(&self) -> String {
        let one = Self { bulk: 0, profile: Profile::Idle, ..self.clone() };
        one.scenario()
    }

    /// The line in a sentence.
    pub fn text(&self) -> String {
        let of = |rate: Rate| show_rate(rate);
        let overhead = self.overhead.as_ref().map_or(String::new(), |words| format!(", overhead {words}"));
        let (least, most) = (show_span(self.rtt.0), show_span(self.rtt.1));
        format!("{} down, {} up{overhead}, round trips {least} to {most} (95 %)", of(self.down), of(self.up))
    }
}

/// Rates that are accepted, in bit/s: the simulation of a faster line takes long, a page takes minutes on a slower one.
const RATES: (u64, u64) = (500_000, 10_000_000_000);

fn rate(key: &str, words: &str) -> Result<Rate, InputError> {
    let bad = || InputError::new("advise", key, Found::text(words), "a rate from 500kbit to 10gbit, such as 100mbit");
    match text::rate(words) {
        Ok(rate) if (RATES.0..=RATES.1).contains(&rate.0) => Ok(rate),
        Ok(_) => Err(bad()),
        Err(error) => Err(bad().hint(error.hint)),
    }
}

/// The round-trip times in ascending order, and the value of the key `rtt`.
fn rtts(words: &str) -> Result<(Vec<Span>, String), InputError> {
    const ACCEPTS: &str = "round-trip times such as 20ms..80ms, a time such as 40ms, or a file with one in each line";
    let bad = |found: Found| InputError::new("advise", "--rtts", found, ACCEPTS);
    let time = |word: &str| text::span(word.trim()).ok().filter(|time| *time >= SHORTEST);
    if let Some((from, to)) = words.split_once("..") {
        let (Some(lo), Some(hi)) = (time(from), time(to)) else { return Err(bad(Found::text(words))) };
        if lo > hi {
            return Err(bad(Found::text(words)).hint(Some(format!("did you mean {}..{}?", to.trim(), from.trim()))));
        }
        let step = Span::from_nanos((hi - lo).nanos() / 100);
        let all = (0..=100).map(|n| lo + step * n).collect();
        return Ok((all, format!("{{ uniform = [\"{}\", \"{}\"] }}", show_span(lo), show_span(hi))));
    }
    if let Some(one) = time(words) {
        return Ok((vec![one], format!("\"{}\"", show_span(one))));
    }
    if text::span(words.trim()).is_ok() {
        return Err(bad(Found::text(words)).hint(Some(format!("the shortest is {}", show_span(SHORTEST)))));
    }
    if words.trim().is_empty() {
        return Err(bad(Found::thing("nothing")));
    }
    if words.trim().parse::<f64>().is_ok() {
        return Err(bad(Found::text(words)).hint(Some(format!("did you mean {}ms?", words.trim()))));
    }
    let file = Path::new(words);
    let content = std::fs::read_to_string(file)
        .map_err(|error| bad(Found::text(words)).hint(Some(format!("{}: {error}", file.display()))))?;
    let mut all = Vec::new();
    for (number, line) in content.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let found = time(line).or_else(|| time(&format!("{line}ms")));
        let Some(found) = found else {
            let place = format!("{}:{}", file.display(), number + 1);
            let accepts = "a round-trip time of at least 4ms, such as 23ms; a number without a unit is in ms";
            return Err(InputError::new(place, "--rtts", Found::text(line), accepts));
        };
        all.push(found);
    }
    if all.is_empty() {
        return Err(bad(Found::thing("a file without round-trip times")));
    }
    all.sort_unstable();
    let times: Vec<String> = all.iter().map(|time| format!("\"{}\"", show_span(*time))).collect();
    let text = format!("{{ measured = [{}] }}", times.join(", "));
    Ok((all, text))
}

/// Shortest round trip: that of the links which all flows share, and some more.
const SHORTEST: Span = Span::from_millis(4);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{self, Overrides};

    fn asked(rtts: &str) -> Asked<'_> {
        Asked {
            rate: "100mbit",
            up: Some("20mbit"),
            rtts,
            overhead: None,
            flows: None,
            l4s: false,
            profile: Profile::Household,
        }
    }

    /// DOCSIS adds 18 bytes to 1500: 98.8 % of the rate are packets of IP.
    #[test]
    fn scenario_has_the_rates_of_ip_packets() {
        let line = Line::read(&Asked { overhead: Some("docsis"), ..asked("20ms..80ms") }).unwrap();
        assert!((line.ip_rates().0 - 1e8 * 1500.0 / 1518.0).abs() < 1.0);
        assert_eq!(line.rtt, (Span::from_millis(20), Span::from_secs(0.077)));
        for profile in Profile::WORDS {
            for l4s in [false, true] {
                let line = Line::read(&Asked { profile: profile.1, l4s, ..asked("20ms..80ms") }).unwrap();
                let cases = load::parse("advice", &line.scenario(), &Overrides::default()).unwrap();
                let bulk: u32 =
                    cases[0].scenario.flows.iter().filter(|g| g.kind.word() == "ftp").map(|g| g.count).sum();
                assert_eq!(bulk, profile.1.bulk());
            }
        }
    }

    #[test]
    fn bad_lines_are_refused_with_what_is_accepted() {
        let refused = |asked: &Asked<'_>, words: &[&str]| {
            let error = Line::read(asked).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        };
        refused(&Asked { rate: "0mbit", ..asked("40ms") }, &["--rate", "500kbit"]);
        refused(&Asked { up: Some("fast"), ..asked("40ms") }, &["--up", "fast", "100mbit"]);
        refused(&Asked { overhead: Some("docsys"), ..asked("40ms") }, &["--overhead", "docsys", "docsis"]);
        for rtts in ["", "80ms..20ms", "20ms..", "no-such-file", "0ms", "1ms"] {
            refused(&asked(rtts), &["--rtts", "20ms..80ms"]);
        }
        refused(&asked("80ms..40ms"), &["did you mean 40ms..80ms?"]);
        refused(&asked("20"), &["did you mean 20ms?"]);
    }

    #[test]
    fn file_has_a_round_trip_in_each_line() {
        let file = std::env::temp_dir().join(format!("forebay-rtts-{}", std::process::id()));
        std::fs::write(&file, "# ms\n30\n20ms\n\n0.1s  # far\n").unwrap();
        let line = Line::read(&asked(file.to_str().unwrap())).unwrap();
        assert_eq!(line.rtt, (Span::from_millis(20), Span::from_millis(100)));
        assert!(line.scenario().contains("measured = [\"20ms\", \"30ms\", \"100ms\"]"));
        std::fs::write(&file, "30\nsoon\n").unwrap();
        let error = Line::read(&asked(file.to_str().unwrap())).unwrap_err().to_string();
        assert!(error.contains(":2") && error.contains("soon"), "{error}");
        std::fs::write(&file, "# none\n").unwrap();
        assert!(Line::read(&asked(file.to_str().unwrap())).is_err());
        std::fs::remove_file(&file).unwrap();
    }
}
