//! The commands of tc(8) that set a discipline on both directions of a line.

use forebay_aqm::base::text::show_rate;

use super::super::tc_line;
use super::line::Line;
use crate::input::InputError;

/// The commands. Packets from the line are redirected to the device `ifb4DEV`, because Linux queues departures only.
///
/// # Errors
/// tc has no such qdisc.
pub(super) fn commands(line: &Line, spec: &str, device: &str) -> Result<Vec<String>, InputError> {
    let found = tc_line::line(spec)?;
    let qdisc = found.command.trim_start_matches("tc qdisc replace dev DEV root ").to_string();
    let ifb = format!("ifb4{device}");
    let mut all = shaped(device, &qdisc, &show_rate(line.up), line.overhead.as_deref(), false);
    all.push(format!("ip link add name {ifb} type ifb"));
    all.push(format!("ip link set dev {ifb} up"));
    all.push(format!("tc qdisc replace dev {device} handle ffff: ingress"));
    all.push(format!(
        "tc filter replace dev {device} parent ffff: protocol all prio 10 matchall action mirred egress redirect dev {ifb}"
    ));
    all.extend(shaped(&ifb, &qdisc, &show_rate(line.down), line.overhead.as_deref(), true));
    Ok(all)
}

/// The qdisc behind a shaper: CAKE has one, the others get HTB.
fn shaped(device: &str, qdisc: &str, rate: &str, overhead: Option<&str>, incoming: bool) -> Vec<String> {
    if let Some(arguments) = qdisc.strip_prefix("cake") {
        let arguments = arguments.trim();
        let words = overhead.map(|words| words.replace('/', " "));
        let ingress = incoming.then_some("ingress");
        let parts = [Some("cake bandwidth"), Some(rate), Some(arguments), words.as_deref(), ingress];
        let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        return vec![format!("tc qdisc replace dev {device} root {}", parts.join(" "))];
    }
    let stab = overhead.and_then(|words| forebay_aqm::queue::cake::wire_length(words, 1500).ok()).map_or_else(
        String::new,
        |length| match overhead
            .is_some_and(|words| words.contains("atm") || words.contains("ipoa") || words.contains("pppoa"))
        {
            true => " stab linklayer atm overhead 0".to_string(),
            false => format!(" stab linklayer ethernet overhead {}", i64::from(length) - 1500),
        },
    );
    vec![
        format!("tc qdisc replace dev {device} root handle 1:{stab} htb default 1"),
        format!("tc class replace dev {device} parent 1: classid 1:1 htb rate {rate}"),
        format!("tc qdisc replace dev {device} parent 1:1 {qdisc}"),
    ]
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
        let all = commands(&line(Some("docsis")), "cake preset=linux rtt=80ms", "eth0").unwrap();
        assert_eq!(all[0], "tc qdisc replace dev eth0 root cake bandwidth 20mbit rtt 80ms docsis");
        assert_eq!(all[5], "tc qdisc replace dev ifb4eth0 root cake bandwidth 100mbit rtt 80ms docsis ingress");
        assert_eq!(all.len(), 6);
    }

    #[test]
    fn other_disciplines_get_htb_as_shaper() {
        let all = commands(&line(Some("docsis")), "fq_codel preset=linux target=3ms", "wan").unwrap();
        assert_eq!(all[0], "tc qdisc replace dev wan root handle 1: stab linklayer ethernet overhead 18 htb default 1");
        assert_eq!(all[1], "tc class replace dev wan parent 1: classid 1:1 htb rate 20mbit");
        assert_eq!(all[2], "tc qdisc replace dev wan parent 1:1 fq_codel target 3ms");
        assert_eq!(
            commands(&line(None), "pie preset=linux", "wan").unwrap()[0],
            "tc qdisc replace dev wan root handle 1: htb default 1"
        );
    }
}
