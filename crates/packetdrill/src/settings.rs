//! What the shell commands of a script set: sysctls, the route's first window and the queue of the device.

use forebay_aqm::base::time::Span;

/// Settings of the system under test. The default values are those of Linux.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Settings {
    /// `tcp_congestion_control`, if the script sets it.
    pub(crate) congestion: Option<String>,
    /// `tcp_ecn`: 0 never, 1 always, 2 if the peer requests it.
    pub(crate) ecn: u32,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    /// Restart with the initial window after an idle time (`tcp_slow_start_after_idle`).
    pub(crate) idle_restart: bool,
    /// Initial window in packets (`initcwnd` of the route).
    pub(crate) initial_window: u32,
    pub(crate) min_rto: Span,
    pub(crate) initial_rto: Span,
    /// Does the queue of the device pace (`fq`)?
    pub(crate) pacing: bool,
    /// Does the queue of the device refuse all packets (`pfifo limit 0`)?
    pub(crate) blocked: bool,
    /// Is Nagle's algorithm off (`TCP_NODELAY`)?
    pub(crate) no_delay: bool,
    /// What cannot be expressed.
    pub(crate) beyond: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            congestion: None,
            ecn: 2,
            sack: true,
            timestamps: true,
            idle_restart: true,
            initial_window: 10,
            min_rto: Span::from_millis(200),
            initial_rto: Span::from_millis(1000),
            pacing: false,
            blocked: false,
            no_delay: false,
            beyond: None,
        }
    }
}

impl Settings {
    /// Runs the commands of `shell` as far as they set something known. Others, such as those that restore sysctls, have
    /// no effect.
    pub(crate) fn run(&mut self, shell: &str) {
        for line in shell.replace("\\\n", " ").lines() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
            if words.iter().any(|word| word.ends_with("defaults.sh")) {
                // Google's `defaults.sh`, as far as it differs from Linux.
                (self.ecn, self.idle_restart) = (0, false);
            }
            let is_tool = |name: &str| words.iter().any(|word| *word == name || word.ends_with(&format!("/{name}")));
            if is_tool("tc") {
                self.queue(&words);
            }
            if is_tool("ip") {
                self.route(&words);
            }
            for word in words {
                if let Some((name, value)) = word.split_once('=') {
                    self.sysctl(&name.replace('/', "."), value);
                }
            }
        }
    }

    /// `tc qdisc add|replace dev tun0 root KIND ...`.
    fn queue(&mut self, words: &[&str]) {
        if let Some(at) = words.iter().position(|word| *word == "root") {
            let kind = words.get(at + 1);
            self.pacing = kind == Some(&"fq");
            self.blocked = words.ends_with(&["pfifo", "limit", "0"]);
            if !matches!(kind, Some(&"fq" | &"pfifo" | &"pfifo_fast" | &"noqueue")) {
                self.beyond = Some(format!("the queue `{}`", words[at + 1..].join(" ")));
            }
        }
    }

    /// `ip route change ... initcwnd N rto_min T`.
    fn route(&mut self, words: &[&str]) {
        for pair in words.windows(2) {
            let number = |text: &str| text.trim_end_matches("ms").parse::<u32>().ok();
            match (pair[0], number(pair[1])) {
                ("initcwnd", Some(packets)) if packets > 0 => self.initial_window = packets,
                ("rto_min", Some(ms)) => self.min_rto = Span::from_millis(u64::from(ms)),
                ("initcwnd" | "rto_min" | "initrwnd" | "quickack" | "congctl" | "features", _) => {
                    self.beyond = Some(format!("`{} {}` of the route", pair[0], pair[1]));
                }
                _ => {}
            }
        }
    }

    fn sysctl(&mut self, path: &str, value: &str) {
        let Some((_, name)) = path.rsplit_once("net.ipv4.") else { return };
        let number = value.parse::<u64>().ok();
        match (name, number) {
            ("tcp_congestion_control", _) => self.congestion = Some(value.trim_matches(['"', '\'']).to_string()),
            ("tcp_ecn", Some(mode @ 0..=2)) => self.ecn = mode as u32,
            ("tcp_sack", Some(on)) => self.sack = on != 0,
            ("tcp_timestamps", Some(on)) => self.timestamps = on != 0,
            ("tcp_slow_start_after_idle", Some(on)) => self.idle_restart = on != 0,
            ("tcp_rto_min_us", Some(us)) => self.min_rto = Span::from_nanos(us.saturating_mul(1000)),
            ("tcp_rto_initial_ms" | "tcp_initial_rto", Some(ms)) => {
                self.initial_rto = Span::from_nanos(ms.saturating_mul(1_000_000));
            }
            ("tcp_reordering", Some(3)) => {}
            ("tcp_ecn" | "tcp_reordering" | "tcp_thin_linear_timeouts" | "tcp_mtu_probing" | "tcp_base_mss", _) => {
                self.beyond = Some(format!("{name}={value}"));
            }
            // Buffers, and rules of the sender: TCP of Linux without SACK, RACK, tail loss probes and the like would be
            // another sender, which `--tcp` selects.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(shell: &str) -> Settings {
        let mut settings = Settings::default();
        settings.run(shell);
        settings
    }

    #[test]
    fn sysctls_are_read_in_every_notation() {
        for shell in [
            "sysctl -q net.ipv4.tcp_ecn=1 # on",
            "sysctl -q net/ipv4/tcp_ecn=1",
            "../common/set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=1 \\\n /proc/sys/net/ipv4/tcp_ecn=1",
        ] {
            assert_eq!(run(shell), Settings { ecn: 1, ..Settings::default() });
        }
        assert_eq!(run("sysctl -q net.ipv4.tcp_congestion_control=\"reno\"").congestion.as_deref(), Some("reno"));
    }

    #[test]
    fn defaults_of_google_have_neither_ecn_nor_restart() {
        let found = run("../../common/defaults.sh\nsysctl -q net.ipv4.tcp_slow_start_after_idle=1");
        assert_eq!(found, Settings { ecn: 0, ..Settings::default() });
    }

    #[test]
    fn route_and_queue_are_read() {
        let found =
            run("ip route change 192.0.2.0/24 dev tun0 initcwnd 4 rto_min 5ms\ntc qdisc replace dev tun0 root fq");
        let wanted = Settings { initial_window: 4, min_rto: Span::from_millis(5), pacing: true, ..Settings::default() };
        assert_eq!(found, wanted);
        assert!(run("tc qdisc replace dev tun0 root pfifo limit 0").blocked);
        assert!(run("tc qdisc add dev tun0 root netem delay 1ms").beyond.is_some());
        assert_eq!(run("tc qdisc add dev tun0 root pfifo"), Settings::default());
    }

    #[test]
    fn unknown_commands_have_no_effect() {
        assert_eq!(run("./sysctl_restore_${PPID}.sh\nethtool -K tun0 tso off\nfoo=1 = =="), Settings::default());
    }
}
