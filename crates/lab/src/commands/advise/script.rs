//! The commands of tc(8) that set a discipline on both directions of a line.

use forebay_aqm::base::text::show_rate;
use forebay_aqm::base::units::Rate;
use forebay_aqm::queue::cake::stab;

use super::super::tc_line;
use super::candidates::SHAPED;
use super::line::Line;
use crate::input::{Found, InputError};

/// Longest name of a device in Linux.
const LONGEST: usize = 15;

/// Checks the name of a device.
///
/// # Errors
/// Linux has no such names, or a shell would read it as something else.
pub(super) fn check(device: &str) -> Result<(), InputError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._@-".contains(letter);
    if (1..=LONGEST).contains(&device.len()) && device.chars().all(is_plain) && !device.starts_with(['-', '.']) {
        return Ok(());
    }
    let accepts = format!("a name of 1 to {LONGEST} letters, digits, '.', '_', '@' and '-', such as eth0");
    Err(InputError::new("advise", "--device", Found::text(device), accepts))
}

/// The commands. The first ones remove the qdiscs of the device, so that they can be repeated. Packets from the line are
/// redirected to another device, because Linux queues departures only.
///
/// # Errors
/// tc has no such qdisc.
pub(super) fn commands(line: &Line, spec: &str, device: &str) -> Result<Vec<String>, InputError> {
    // The last letters of a long name, because those of VLANs differ at the end.
    let prefix = "ifb4";
    let ifb = format!("{prefix}{}", &device[device.len().saturating_sub(LONGEST - prefix.len())..]);
    let mut all = vec![
        format!("tc qdisc del dev {device} root 2>/dev/null"),
        format!("tc qdisc del dev {device} ingress 2>/dev/null"),
        format!("ip link del dev {ifb} 2>/dev/null"),
    ];
    all.extend(shaped(device, spec, line.up, line.overhead.as_deref(), false)?);
    all.push(format!("ip link add name {ifb} type ifb"));
    all.push(format!("ip link set dev {ifb} up"));
    all.push(format!("tc qdisc add dev {device} handle ffff: ingress"));
    all.push(format!(
        "tc filter add dev {device} parent ffff: protocol all matchall action mirred egress redirect dev {ifb}"
    ));
    all.extend(shaped(&ifb, spec, line.down, line.overhead.as_deref(), true)?);
    Ok(all)
}

/// The qdisc behind a shaper: CAKE has one, the others get HTB.
fn shaped(
    device: &str,
    spec: &str,
    rate: Rate,
    overhead: Option<&str>,
    incoming: bool,
) -> Result<Vec<String>, InputError> {
    let qdisc = |spec: &str| {
        let command = tc_line::line(spec)?.command;
        let arguments = command.trim_start_matches("tc qdisc replace dev DEV root ");
        // The simulation has no ECN-capable packets except those of L4S.
        let selector = if arguments.contains("ce_threshold") { " ce_threshold_selector 0x1/0x3" } else { "" };
        Ok::<String, InputError>(format!("{arguments}{selector}"))
    };
    if spec.starts_with("cake") {
        let overhead = overhead.map_or_else(String::new, |words| format!(" overhead={words}"));
        let ingress = if incoming { " ingress=on" } else { "" };
        let spec = spec.replace(SHAPED, &format!("bandwidth={}", show_rate(rate)));
        let cake = qdisc(&format!("{spec}{overhead}{ingress}"))?;
        // In the simulation each device has its own address. Behind NAT, CAKE sees these addresses only with `nat`.
        return Ok(vec![format!("tc qdisc add dev {device} root {cake} nat")]);
    }
    let table = overhead.and_then(|words| stab(words).ok());
    let share = table.as_ref().map_or(1.0, |(_, share)| *share);
    let stab = table.map_or_else(String::new, |(table, _)| format!(" stab {table}"));
    let rate = show_rate(Rate((rate.0 as f64 * share) as u64));
    Ok(vec![
        format!("tc qdisc add dev {device} root handle 1:{stab} htb default 1"),
        format!("tc class add dev {device} parent 1: classid 1:1 htb rate {rate}"),
        format!("tc qdisc add dev {device} parent 1:1 {}", qdisc(spec)?),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::line::{Asked, Profile};
    use super::*;

    fn line(overhead: Option<&str>) -> Line {
        let asked = Asked {
            rate: "100mbit",
            up: Some("20mbit"),
            rtts: "20ms..80ms",
            overhead,
            flows: None,
            l4s: false,
            profile: Profile::Household,
        };
        Line::read(&asked).unwrap()
    }

    #[test]
    fn cake_shapes_both_directions() {
        let all = commands(&line(Some("docsis")), "cake preset=linux bandwidth=link rtt=80ms", "eth0").unwrap();
        assert_eq!(all[3], "tc qdisc add dev eth0 root cake bandwidth 20mbit rtt 80ms docsis nat");
        assert_eq!(all[8], "tc qdisc add dev ifb4eth0 root cake bandwidth 100mbit rtt 80ms ingress docsis nat");
        assert_eq!(all.len(), 9);
        let bytes = commands(&line(Some("44")), "cake preset=linux bandwidth=link", "eth0").unwrap();
        assert!(bytes[3].ends_with(" bandwidth 20mbit overhead 44 nat"), "{}", bytes[3]);
    }

    #[test]
    fn other_disciplines_get_htb_as_shaper() {
        let all = commands(&line(Some("docsis")), "fq_codel preset=linux target=3ms", "wan").unwrap();
        let stab = "stab linklayer ethernet overhead 4 mpu 64";
        assert_eq!(all[3], format!("tc qdisc add dev wan root handle 1: {stab} htb default 1"));
        assert_eq!(all[4], "tc class add dev wan parent 1: classid 1:1 htb rate 20mbit");
        assert_eq!(all[5], "tc qdisc add dev wan parent 1:1 fq_codel target 3ms");
        let plain = commands(&line(None), "pie preset=linux", "wan").unwrap();
        assert_eq!(plain[3], "tc qdisc add dev wan root handle 1: htb default 1");
        // PTM leaves 64 of 65 bytes.
        let ptm = commands(&line(Some("pppoe-ptm")), "pie preset=linux", "wan").unwrap();
        assert!(ptm[4].ends_with("htb rate 19692.307kbit"), "{}", ptm[4]);
    }

    #[test]
    fn l4s_threshold_is_for_l4s_packets_only() {
        let all = commands(&line(None), "fq_codel preset=linux ce_threshold=1ms", "wan").unwrap();
        assert!(all[5].ends_with("fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3"), "{}", all[5]);
    }

    #[test]
    fn vlans_have_different_ifbs() {
        let ifb = |device: &str| commands(&line(None), "pie preset=linux", device).unwrap()[2].clone();
        assert_eq!(ifb("enp0s31f6.1001"), "ip link del dev ifb40s31f6.1001 2>/dev/null");
        assert_ne!(ifb("enp0s31f6.1001"), ifb("enp0s31f6.100"));
        assert_eq!(ifb("eth0"), "ip link del dev ifb4eth0 2>/dev/null");
    }

    #[test]
    fn names_of_devices_are_checked() {
        for bad in ["", "enx0011223344556677", "eth0; reboot", "a b", "-x", "$(x)"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert!(check("enx001122334455").is_ok());
        let all = commands(&line(None), "pie preset=linux", "enx001122334455").unwrap();
        assert_eq!(all[6], "ip link add name ifb401122334455 type ifb");
    }
}
