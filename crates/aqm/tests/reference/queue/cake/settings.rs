//! The settings of CAKE: random ones, as text for the library and as fields of the listing.

use super::Cake;
use crate::reference::harness::*;

/// The settings, as tc sends them.
#[derive(Clone)]
pub(super) struct Config {
    pub(super) rate_bps: u64,
    pub(super) autorate: bool,
    pub(super) interval_us: u64,
    pub(super) tins: &'static str,
    pub(super) flow_mode: &'static str,
    pub(super) ack_filter: &'static str,
    pub(super) memlimit: u64,
    pub(super) raw: bool,
    pub(super) overhead: i64,
    pub(super) mpu: i64,
    pub(super) atm: &'static str,
    pub(super) ingress: bool,
    pub(super) exact: bool,
    pub(super) truesize: bool,
    pub(super) mtu: u64,
}

impl Config {
    pub(super) fn dsrc(&self) -> bool {
        matches!(self.flow_mode, "dual-srchost" | "triple-isolate")
    }

    pub(super) fn ddst(&self) -> bool {
        matches!(self.flow_mode, "dual-dsthost" | "triple-isolate")
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(super) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let kbit = (net.bandwidth as f64 * dice.between(0.4, 1.3) / 1000.0).ceil() as u64;
    let unlimited = dice.odds(0.25);
    let interval_us = dice.pick(&[100_000, 1_000, 20_000, 300_000]);
    let tins = dice.pick(&["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"]);
    let modes = ["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"];
    let flow_mode = dice.pick(&modes);
    let ack_filter = dice.pick(&["off", "on", "aggressive"]);
    let (autorate, ingress, exact, truesize) = (dice.odds(0.2), dice.odds(0.4), dice.odds(0.5), dice.odds(0.5));
    let memlimit = if dice.odds(0.4) { dice.upto(3, 60) * net.mean_pktsize } else { 0 };
    let (words, raw, overhead, mpu, atm) = dice.pick(&[
        ("raw", true, 0, 0, ""),
        ("44", false, 44, 0, ""),
        ("-20", false, -20, 0, ""),
        ("docsis", false, 18, 64, ""),
        ("ethernet/ether-vlan", false, 42, 84, ""),
        ("pppoe-ptm", false, 30, 0, "ptm"),
        ("bridged-llcsnap", false, 32, 0, "atm"),
        ("raw/atm", true, 0, 0, "atm"),
        ("conservative", false, 48, 0, "atm"),
    ]);
    let mtu = dice.pick(&[1514, 600]);
    let salt = dice.odds(0.5).then(|| dice.upto(0, u64::from(u32::MAX)) as u32);
    let rate_bps = if unlimited { 0 } else { kbit * 125 };
    let text = format!(
        "bandwidth={} autorate={} rtt={interval_us}us tins={tins} flows={flow_mode} ack_filter={ack_filter} \
         memlimit={} overhead={words} header=14b ingress={} mtu={mtu}b memory={} hash={} salt={}",
        if unlimited { "unlimited".to_string() } else { format!("{kbit}kbit") },
        on(autorate),
        if memlimit > 0 { format!("{memlimit}b") } else { "auto".to_string() },
        on(ingress),
        if truesize { "skb" } else { "wire" },
        if exact { "exact" } else { "salted" },
        salt.map_or("auto".to_string(), |salt| salt.to_string()),
    );
    let set = Config {
        rate_bps,
        autorate,
        interval_us,
        tins,
        flow_mode,
        ack_filter,
        memlimit,
        raw,
        overhead,
        mpu,
        atm,
        ingress,
        exact,
        truesize,
        mtu,
    };
    (text, Box::new(Cake::new(net, set, salt)))
}
