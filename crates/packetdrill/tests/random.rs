//! Random scripts.

use forebay_packetdrill::{Options, check};
use proptest::prelude::*;

const OPEN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 257
";

/// A line of a script that can be read, with random numbers.
fn line() -> impl Strategy<Value = String> {
    let time = prop_oneof![Just("+0".to_string()), (0u32..3000).prop_map(|ms| format!("+{:.3}", f64::from(ms) / 1e3))];
    let segment = || prop_oneof![(0u32..30).prop_map(|n| n * 1000 + 1), any::<u32>()];
    let packet = (any::<bool>(), segment(), 0u32..5, segment(), segment(), segment(), any::<u16>(), "[FSRPEW]{0,2}");
    let packet = packet.prop_map(|(expected, seq, count, ack, left, right, win, flags)| {
        let seq = seq.min(u32::MAX - 5000);
        let (end, len) = (seq + count * 1000, count * 1000);
        let side = if expected { ">" } else { "<" };
        let win = if expected { String::new() } else { format!(" win {win}") };
        format!("{side} {flags}. {seq}:{end}({len}) ack {ack}{win} <sack {left}:{right}>")
    });
    let action = prop_oneof![
        6 => packet,
        3 => (0u64..200_000).prop_map(|bytes| format!("write(4, ..., {bytes}) = {bytes}")),
        1 => Just("%{ assert tcpi_snd_cwnd <= tcpi_snd_ssthresh }%".to_string()),
        1 => Just("close(4) = 0".to_string()),
    ];
    (time, action).prop_map(|(time, action)| format!("{time} {action}\n"))
}

proptest! {
    #[test]
    fn random_text_never_panics(text in "\\PC{0,200}") {
        let _ = check("s.pkt", &text, &Options::default());
    }

    #[test]
    fn random_tokens_never_panic(tokens in prop::collection::vec(
        "[0-9]{1,10}|[.][0-9]|[-+~*<>(){}\\[\\]=,:|`\"]|[.]{1,3}|S|P[.]|ack|win|sack|mss|%[{]|[}]%|assert|write|\n", 0..60))
    {
        let _ = check("s.pkt", &tokens.join(" "), &Options::default());
    }

    #[test]
    fn random_events_never_panic(lines in prop::collection::vec(line(), 0..40)) {
        let report = check("s.pkt", &format!("{OPEN}{}", lines.concat()), &Options::default());
        prop_assert!(report.is_ok(), "{report:?}");
    }
}
