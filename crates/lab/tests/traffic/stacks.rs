//! The two TCP stacks of scenario files: `stack = "rfc" | "linux"`, and the controls `linux` and `l4s-linux`.

use forebay_aqm::base::time::Span;
use forebay_lab::plan::{Job, Plan};
use forebay_lab::record::{FlowRecord, RunRecord};
use forebay_sim::tcp::{Stack, TcpOptions, Transport, Variant};

use crate::dumbbell::{Dumbbell, read};

/// 40 Mb/s and a round trip of 20 ms under this discipline.
fn text(aqm: &str, flows: &str) -> String {
    let bell = Dumbbell {
        head: "duration = \"10s\"\nwarmup = \"3s\"",
        bottleneck: &format!("rate = \"40mbit\", delay = \"8ms\", queue = \"200p\", aqm = \"{aqm}\""),
        access: "rate = \"100mbit\", delays = [\"1ms\"], hosts = 4",
        egress: "rate = \"100mbit\", delay = \"1ms\"",
    };
    bell.with(flows)
}

fn options(keys: &str) -> TcpOptions {
    let cases = read(&text("pie", &format!("[[flows]]\nkind = \"ftp\"\n{keys}"))).unwrap();
    let group = &cases[0].scenario.flows[0];
    let again = read(&cases[0].scenario.to_toml()).unwrap();
    assert_eq!(again[0].scenario.flows[0], *group, "its canonical text");
    group.kind.tcp().unwrap()
}

fn run(aqm: &str, flows: &str) -> RunRecord {
    crate::dumbbell::run(read(&text(aqm, flows)).unwrap_or_else(|error| panic!("{flows}: {error}")))
}

/// Mb/s of the flows of a group.
fn goodput(record: &RunRecord, group: &str) -> f64 {
    let of_group = record.flows.iter().filter(|flow| flow.group == group);
    of_group.map(|flow| flow.goodput_bytes as f64 * 8.0 / 7e6).sum()
}

#[test]
fn linux_stack_has_the_defaults_of_a_linux_host() {
    let ms = Span::from_millis;
    for (keys, variant, ect_again) in [
        ("tcp = \"linux\"", Variant::LINUX, false),
        ("tcp = \"l4s-linux\"", Variant::L4SLINUX, true),
        ("tcp = \"reno\"\nstack = \"linux\"", Variant::RENO, false),
        ("tcp = \"dctcp\"\nstack = \"linux\"", Variant::DCTCP, true),
    ] {
        let linux = options(keys);
        assert_eq!((linux.variant, linux.stack()), (variant, Stack::Linux));
        assert_eq!((linux.initial_window, linux.delayed_ack), (10, true));
        assert_eq!((linux.initial_rto, linux.min_rto, linux.max_rto), (None, ms(200), ms(120_000)));
        assert_eq!((linux.repeats_with_ect(), linux.pacing), (ect_again, false), "{keys}");
    }
    let own = options("tcp = \"cubic\"\ninitial_window = 3\ndelayed_ack = false\nmax_rto = \"9s\"\nstack = \"rfc\"");
    assert_eq!((own.stack(), own.initial_window, own.delayed_ack, own.max_rto), (Stack::Rfc, 3, false, ms(9000)));
    let rfc = options("tcp = \"reno\"");
    assert_eq!(
        (rfc.stack(), rfc.initial_window, rfc.delayed_ack, rfc.repeats_with_ect()),
        (Stack::Rfc, 2, false, false)
    );
}

#[test]
fn kernel_tcp_names_a_control_of_linux() {
    let options = options("tcp = \"reno\"\nkernel_tcp = \"westwood\"");
    assert_eq!((options.variant, options.kernel()), (Variant::RENO, Some("westwood")));
    let error = read(&text("pie", "[[flows]]\nkind = \"ftp\"\nkernel_tcp = \"westwod\"")).unwrap_err().to_string();
    assert!(error.contains("westwod") && error.contains("did you mean westwood?"), "{error}");
}

/// 1500 bytes: 40 of headers in the simulator, 66 of real hosts.
#[test]
fn goodput_can_exclude_headers_of_real_packets() {
    let cases = || read(&text("pie", "[[flows]]\nkind = \"ftp\"\ncount = 2")).unwrap();
    let job = Job { case: 0, contender: 0, seed: 1 };
    let run = |plan: Plan| plan.run(job, &mut ()).unwrap().unwrap().flows[1].clone();
    let (own, real) = (run(Plan::new(cases(), 1, 1)), run(Plan::new(cases(), 1, 1).with_real_headers()));
    let share = |flow: &FlowRecord| flow.goodput_bytes as f64 / flow.received_bytes as f64;
    assert_eq!((share(&own), share(&real)), (1460.0 / 1500.0, 1434.0 / 1500.0));
    assert_eq!(own.received_bytes, real.received_bytes);
}

/// Two flows of each control, of which both stacks use most of the link.
#[test]
fn every_control_fills_the_link_on_the_linux_stack() {
    let fits = |(word, control): &(&str, Variant)| !word.starts_with("own:") && !control.profile().reports_delay;
    for (word, _) in Variant::of(Transport::Tcp).into_iter().filter(fits) {
        for aqm in ["droptail", "codel"] {
            let flows = format!("[[flows]]\nkind = \"ftp\"\nstack = \"linux\"\ntcp = \"{word}\"\ncount = 2");
            let record = run(aqm, &flows);
            let sum = goodput(&record, "ftp");
            assert!(sum > 33.0, "{word} under {aqm}: {sum} Mb/s");
            assert!(record.flows.iter().all(|flow| flow.timeouts == 0), "{word} under {aqm}");
        }
    }
}

/// Background traffic: a flow of LEDBAT leaves the link to one of CUBIC, and fills it alone with little delay.
#[test]
fn ledbat_yields_to_cubic() {
    let ledbat = "[[flows]]\nname = \"background\"\nkind = \"ftp\"\ntcp = \"ledbat\"\ntarget = \"20ms\"\n";
    let alone = run("droptail", ledbat);
    assert!(goodput(&alone, "background") > 33.0, "{}", goodput(&alone, "background"));
    let wait = alone.summary.sojourn_ms.as_ref().map_or(0.0, |wait| wait.mean);
    assert!((10.0..25.0).contains(&wait), "the queueing delay is the target: {wait} ms");
    let both = run("droptail", &format!("{ledbat}[[flows]]\nname = \"bulk\"\nkind = \"ftp\"\ntcp = \"cubic\"\n"));
    let [background, bulk] = ["background", "bulk"].map(|group| goodput(&both, group));
    assert!(bulk > 8.0 * background, "{bulk} {background}");
}

/// Senders that start a connection for each page.
#[test]
fn new_connections_of_a_flow_work_on_the_linux_stack() {
    let flows = "[[flows]]\nkind = \"web\"\ntcp = \"l4s-linux\"\nhandshake = true\ncount = 3\nsize = \"100kb\"\nthink = \"100ms\"";
    let record = run("dualpi2", flows);
    assert!(goodput(&record, "web") > 2.0, "{}", goodput(&record, "web"));
}
