//! Tests of the descriptions of our scenarios that ns-2 runs, and a comparison with ns-2.

use forebay_aqm::Spec;
use forebay_aqm::base::time::Instant;
use forebay_lab::scenario::{Case, Overrides};
use forebay_lab::{load, lower};
use runner::program;

use super::disciplines::Queue;
use super::{network, points, runs};

/// A dumbbell of two hosts with this bottleneck, these access links and flows.
fn case(access: &str, flows: &str) -> Case {
    let text = format!(
        "version = 1\nduration = \"20s\"\nwarmup = \"5s\"\npacket = 500\n\
         [topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"1mbit\", delay = \"10ms\", queue = \"20p\" }}\n\
         access = {access}\negress = {{ rate = \"10mbit\", delay = \"1ms\" }}\n{flows}"
    );
    load::parse("s.toml", &text, &Overrides::default()).unwrap().remove(0)
}

const ACCESS: &str =
    "{ hosts = 2, rate = \"10mbit\", delays = [\"2ms\", \"3ms\"], queue = \"50p\", jitter = \"10us\" }";

/// The description of the network of `case` with seed 1.
fn described(case: &Case) -> Result<Vec<String>, String> {
    let net = lower::network(&case.scenario, &Spec::parse("droptail").unwrap(), 1);
    Ok(network::describe(&net, 1)?.lines().map(str::to_string).collect())
}

/// The lines of a description that begin with the word `kind`.
fn lines<'a>(all: &'a [String], kind: &str) -> Vec<&'a str> {
    all.iter().filter_map(|line| line.split_once(' ').filter(|(word, _)| *word == kind).map(|(_, rest)| rest)).collect()
}

/// The numbers at these places of a line.
fn numbers<const N: usize>(line: &str, places: [usize; N]) -> [f64; N] {
    let words: Vec<&str> = line.split([' ', '{', '}']).filter(|word| !word.is_empty()).collect();
    places.map(|place| words[place].parse().unwrap())
}

#[test]
fn dumbbell_gives_lines_for_links_jitter_and_routes() {
    let all = described(&case(ACCESS, "[[flows]]\nkind = \"ftp\"\ncount = 3\n")).unwrap();
    // The first flow's hosts are 1 and 0; 2 to 3 is the bottleneck, 4 to 5 its reverse.
    assert_eq!(all[..3], ["run 20 5", "nodes 8", "study 2 3 1000000 0.01"]);
    let links = lines(&all, "link");
    assert_eq!(
        links[..3],
        ["4 5 1000000 0.01 20 packets", "1 2 10000000 0.002 50 packets", "3 0 10000000 0.001 50 packets"]
    );
    assert_eq!((links.len(), links.contains(&"7 2 10000000 0.003 50 packets")), (9, true));
    assert_eq!(lines(&all, "jitter"), ["1 2 0.00001", "0 4 0.00001", "7 2 0.00001", "6 4 0.00001"]);
    let hops = ["1 0 2", "2 0 3", "3 0 0", "0 1 4", "4 1 5", "5 1 1"];
    assert!(hops.iter().all(|hop| lines(&all, "hop").contains(hop)));
    let flows: Vec<&str> = lines(&all, "tcp").iter().map(|line| &line[..3]).collect();
    assert_eq!(flows, ["1 0", "7 6", "1 0"]);
}

#[test]
fn radio_links_give_lines_with_our_rates_and_losses() {
    let access = "[{ name = \"radio\", rate = \"10mbit\", delays = [\"2ms\"], egress = { preset = \"hsdpa\" } }]";
    let radio = case(access, "[[flows]]\nkind = \"ftp\"\n");
    let all = described(&radio).unwrap();
    let net = lower::network(&radio.scenario, &Spec::parse("droptail").unwrap(), 1);
    let hop = net.links.iter().find(|link| link.lane.conditions.levels.is_some()).unwrap();
    let conditions = &hop.lane.conditions;
    let rates = conditions.drawn_rates(&hop.name, 1, Instant::ZERO + net.duration).unwrap();
    let forebay_sim::schedule::Schedule::Steps(steps) = &*rates else { panic!("no steps") };
    let line = lines(&all, "rates")[0];
    let [at, rate, next_at, next_rate] = numbers(line, [2, 3, 4, 5]);
    assert_eq!([(at, rate), (next_at, next_rate)], [0, 1].map(|step| (steps[step].0.secs(), steps[step].1.0 as f64)));
    let mut losses = conditions.losses(&hop.name, 1).unwrap();
    let first = (0..).find(|_| losses.draw()).map(f64::from);
    assert_eq!(first, Some(numbers::<1>(lines(&all, "lost")[0], [2])[0]));
}

#[test]
fn flows_give_lines_with_our_random_numbers() {
    let flows = "[[flows]]\nname = \"back\"\nkind = \"ftp\"\ntcp = \"sack\"\nwindow = 20\nactive = [\"3s\", \"10s\"]\n\
                 direction = \"reverse\"\n\
                 [[flows]]\nkind = \"web\"\ntcp = \"tahoe\"\nsize = \"1200b\"\nthink = \"9s\"\npersistent = false\n\
                 [[flows]]\nkind = \"cbr\"\nrate = \"400kbit\"\npacket = 100\n\
                 [[flows]]\nkind = \"onoff\"\nrate = \"40kbit\"\non = \"1s\"\noff = \"1s\"\n";
    let case = case(ACCESS, flows);
    let all = described(&case).unwrap();
    let tcp = lines(&all, "tcp")[0];
    assert!(tcp.starts_with("1 0 3.") && tcp.contains(" 10 /Sack1 /Sack1 {packetSize_ 460 window_ 20 "), "{tcp}");
    let files = lines(&all, "files")[0];
    // Three packets of 500 bytes, 9 s until the next file, which cannot begin more often in 20 s.
    assert!(files.starts_with("0 1 ") && files.ends_with(" 1 400 0.013 {3 9 3 9 3 9}"), "{files}");
    assert!(files.contains(" - {} {} {packetSize_ 460 window_ 1000000 "), "{files}");
    // 100 bytes each 2 ms, the first within 2 ms of the start.
    let net = lower::network(&case.scenario, &Spec::parse("droptail").unwrap(), 1);
    let [first, every, bytes] = numbers(lines(&all, "cbr")[0].replace(" - ", " ").as_str(), [2, 3, 4]);
    let start = net.flows[2].start.secs();
    assert!((start..start + 0.002).contains(&first) && every == 0.002 && bytes == 100.0);
    // 500 bytes each 100 ms of a burst.
    let [one, length, two] = numbers(lines(&all, "udp")[0], [2, 3, 4]);
    assert!(length == 500.0 && (two - one - 0.1).abs() < 1e-6, "{one} {two}");
}

#[test]
fn syn_of_ns2_replaces_the_request() {
    let pages = "[[flows]]\nkind = \"web\"\nsize = \"3p\"\nthink = \"9s\"\npersistent = false\n";
    for (handshake, syn, request) in [("false", 0, 400), ("true", 1, 400), ("\"ns2\"", 1, 0)] {
        let all = described(&case(ACCESS, &format!("{pages}handshake = {handshake}\n"))).unwrap();
        let files = lines(&all, "files")[0];
        let ends = format!("syn_ {syn} delay_growth_ {syn}}} 1 {request} 0.013 {{3 9 3 9 3 9}}");
        assert!(files.ends_with(&ends), "{files}");
    }
}

#[test]
fn networks_without_equivalent_in_ns2_are_refused() {
    let refused = |access: &str, flows: &str| described(&case(access, flows)).unwrap_err();
    assert!(refused(ACCESS, "[[flows]]\nkind = \"ftp\"\ntcp = \"cubic\"\n").contains("tcp cubic"));
    let marker = "marker = { kind = \"token-bucket\", cir = \"1mbit\", cbs = \"8p\" }\n";
    let both = format!("[[flows]]\nname = \"a\"\nkind = \"ftp\"\n{marker}[[flows]]\nname = \"b\"\nkind = \"ftp\"\n");
    assert!(refused(ACCESS, &both).contains("different token buckets"));
    let alone = described(&case(ACCESS, &format!("[[flows]]\nkind = \"ftp\"\n{marker}"))).unwrap();
    assert_eq!(lines(&alone, "bucket"), ["1 2 1000000 4000"]);
}

#[test]
fn disciplines_get_corresponding_parameters_of_ns2() {
    let case = case(ACCESS, "[[flows]]\nkind = \"ftp\"\n");
    let queue = |text: &str| {
        let spec = Spec::parse(text).unwrap();
        let net = lower::network(&case.scenario, &spec, 1);
        let link = network::studied(&net).unwrap();
        Queue::of(&spec, &net.links[link]).map(|queue| queue.arguments().join(" "))
    };
    let red = |unit: &str, thresholds: &str, gentle: u8, ecn: u8| {
        format!(
            "20 RED bytes_ 0 queue_in_bytes_ {unit} mean_pktsize_ 500 {thresholds} q_weight_ -1 linterm_ 10 \
             gentle_ {gentle} wait_ 1 use_mark_p_ 0 mark_p_ 0.1 setbit_ {ecn}"
        )
    };
    let few = "thresh_ 5 maxthresh_ 15";
    let rio = "20 RED/RIO bytes_ 0 queue_in_bytes_ 0 mean_pktsize_ 500 in_thresh_ 40 in_maxthresh_ 80 in_linterm_ 50 \
               out_thresh_ 20 out_maxthresh_ 40 linterm_ 10 q_weight_ 0.002 in_gentle_ 0 out_gentle_ 0 wait_ 1 setbit_ 1";
    for (ours, ns2) in [
        // ns-2's drop-tail and REM hold one packet less than their limit.
        ("droptail", "21 DropTail queue_in_bytes_ 0".to_string()),
        ("droptail hard_limit=9000b", "9001 DropTail queue_in_bytes_ 1 mean_pktsize_ 1".to_string()),
        (
            "rem preset=ns2 b=10",
            "21 REM qib_ 0 mean_pktsize_ 1000 pbo_ 10 gamma_ 0.001 phi_ 1.001 pupdtime_ 0.002 markpkts_ 0".to_string(),
        ),
        ("red min_th=5 max_th=15 ecn=off", red("0", few, 1, 0)),
        ("red min_th=2500b max_th=7500b gentle=off", red("1", few, 0, 1)),
        (
            "avq preset=ns2 limit=10p",
            "20 Vq queue_in_bytes_ 1 mean_pktsize_ 500 gamma_ 0.98 ecnlim_ 0.8 buflim_ 0.5 markpkts_ 0".to_string(),
        ),
        ("rio", rio.to_string()),
    ] {
        assert_eq!(queue(ours), Ok(ns2), "{ours}");
    }
    let ared = queue("ared preset=ns2").unwrap();
    assert!(ared.contains("queue_in_bytes_ 1") && ared.contains("thresh_ 0 ") && ared.ends_with("bottom_ 0"), "{ared}");
    for (ours, why) in [("avq alpha=0.5", "alpha=0.5"), ("feng_red preset=paper", "rule=paper"), ("raqm", "raqm")] {
        assert!(queue(ours).is_err_and(|what| what.contains(why)), "{ours}");
    }
}

/// ns-2 runs at most three values of a key that an experiment varies: the first, a middle one and the last. If the
/// paper's `claims.toml` decides its claims at one value (`point`), ns-2 runs only that value.
#[test]
fn ns2_runs_first_middle_and_last_varied_values() {
    let names = |paper: &str| {
        let all = points::experiments(forebay_lab::papers::find(paper).unwrap()).unwrap();
        all.iter().map(points::Experiment::name).collect::<Vec<_>>()
    };
    let raqm = names("raqm");
    assert!(raqm.contains(&"case-1 [flows.ftp.count=40]".to_string()));
    let sweep: Vec<&String> = raqm.iter().filter(|name| name.starts_with("case-3-sweep")).collect();
    assert_eq!(sweep, ["case-3-sweep [q=20]", "case-3-sweep [q=60]", "case-3-sweep [q=90]"]);
    // The point of the section.
    let load: Vec<String> = names("msvb").into_iter().filter(|name| name.starts_with("load [")).collect();
    assert_eq!(load, ["load [basis=accepted, cap=auto]"]);
}

#[test]
fn values_that_ns2_fixes_are_in_the_labels() {
    let all = points::experiments(forebay_lab::papers::find("aaqm").unwrap()).unwrap();
    let load = all.iter().find(|it| it.scenario == "load").unwrap();
    let labels: Vec<&str> = load.opponents.iter().map(|contender| contender.label.as_str()).collect();
    let vq = "VQ, without th, alpha=0.15";
    let ared = ["ARED, without th, rule=ns2", "ARED of Floyd et al., without th"];
    assert_eq!(labels, ["PI, without th", vq, ared[0], ared[1]]);
    let net = lower::network(&load.case.scenario, &load.opponents[0].spec, 1);
    let link = &net.links[network::studied(&net).unwrap()];
    for contender in &load.opponents {
        assert!(Queue::of(&contender.spec, link).is_ok(), "{}", contender.label);
    }
}

#[test]
fn short_run_agrees_with_ns2() {
    if program::find(&["ns"]).is_none() {
        return crate::skips::skip("the program ns (package ns2)");
    }
    let flows = "[[flows]]\nkind = \"ftp\"\ncount = 8\n[[flows]]\nkind = \"cbr\"\nrate = \"100kbit\"\n\
                 [compare]\naqm = [\"droptail\", \"red min_th=5 max_th=15\", \"raqm\"]\n";
    let wanted = points::Experiment::of("short", case(ACCESS, flows)).unwrap();
    let folder = program::scratch("ns2-short").unwrap();
    let compared = runs::compare(&wanted, 3, &folder).unwrap();
    assert_eq!(compared.rows.len(), 2);
    for row in &compared.rows {
        assert_eq!(runs::Row::outside(&row.compared), Vec::<&str>::new(), "{}: {:?}", row.contender, row.compared);
    }
}
