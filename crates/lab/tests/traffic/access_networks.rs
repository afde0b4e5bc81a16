//! Presets of access networks for the last hop, the link to a group of hosts: from the scenario file to the run.

use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_lab::load;
use forebay_lab::lower;
use forebay_lab::plan::{Job, Plan};
use forebay_lab::record::RunRecord;
use forebay_lab::scenario::{Case, Egress, InputError, Overrides};
use forebay_sim::loss::LossModel;

/// The network of the AAQM paper: three groups of four stations.
const AAQM: &str = include_str!("../data/last-hops.toml");

fn read(text: &str, sets: &[&str]) -> Result<Case, InputError> {
    let sets = sets.iter().map(|set| set.to_string()).collect();
    load::parse("s.toml", text, &Overrides { sets, ..Overrides::default() }).map(|mut cases| cases.remove(0))
}

fn egress(sets: &[&str]) -> Vec<Egress> {
    read(AAQM, sets)
        .unwrap_or_else(|error| panic!("{error}"))
        .scenario
        .topology
        .hosts()
        .iter()
        .map(|hosts| hosts.egress.clone())
        .collect()
}

fn run(sets: &[&str], seed: u64) -> RunRecord {
    let plan = Plan::new(vec![read(AAQM, sets).unwrap()], 1, 1);
    plan.run(Job { case: 0, contender: 0, seed }, &mut ()).unwrap().unwrap()
}

#[test]
fn each_host_group_has_its_last_hop_link() {
    let [wifi, wimax, umts] = &egress(&[])[..] else { panic!("three groups") };
    let levels = |egress: &Egress| egress.wire.levels.clone().unwrap();
    assert_eq!((wifi.delay, levels(wifi).rates.len(), wifi.rate), (Span::from_millis(2), 5, levels(wifi).mean()));
    assert_eq!((wimax.delay, levels(wimax).most()), (Span::from_millis(20), Rate(16_128_000)));
    assert_eq!((umts.queue, levels(umts).hold), (Limit::Packets(100), Span::from_millis(500)));
    assert!(matches!(wifi.wire.loss, Some(LossModel::GilbertElliott { good: 0.0, .. })));
}

#[test]
fn written_keys_override_the_preset() {
    let wifi = "topology.access.wifi.egress";
    let set = |key: &str| egress(&[&format!("{wifi}.{key}")])[0].clone();
    let fixed = set("rate=20mbit");
    assert_eq!((fixed.rate, &fixed.wire.levels, fixed.wire.loss.is_some()), (Rate(20_000_000), &None, true));
    assert_eq!(set("loss=0").wire.loss, Some(LossModel::Bernoulli(0.0)));
    assert_eq!((set("delay=7ms").delay, set("queue=9p").queue), (Span::from_millis(7), Limit::Packets(9)));
    let steps = set("rate_steps=[['5s', '1mbit']]");
    assert!(steps.wire.schedule.is_some() && steps.wire.levels.is_none() && steps.wire.loss.is_some());
    let levels = set("rate_levels={ rates = ['1mbit', '3mbit'], hold = '1s' }");
    assert_eq!((levels.rate, levels.wire.levels.unwrap().rates.len()), (Rate(2_000_000), 2));
}

/// The canonical text has no preset: a later change of a preset does not change a stored run.
#[test]
fn canonical_text_has_values_instead_of_presets() {
    let scenario = read(AAQM, &[]).unwrap().scenario;
    let text = scenario.to_toml();
    assert!(!text.contains("preset =") && text.matches("[topology.access.egress]").count() == 3, "{text}");
    let levels =
        "rate_levels = { rates = [\"631kbit\", \"1659.5kbit\", \"2.332mbit\", \"3.584mbit\"], hold = \"500ms\" }";
    assert!(text.contains(levels), "{text}");
    assert_eq!(read(&text, &[]).unwrap().scenario, scenario);
    let shared = AAQM.replace(", egress = { preset = \"wifi\" }", "").replace(", egress = { preset = \"wimax\" }", "");
    let shared = shared
        .replace(", egress = { preset = \"hsdpa\" }", "")
        .replace("[[flows]]\nname = \"near\"", "egress = { preset = \"umts\" }\n[[flows]]\nname = \"near\"");
    let one = read(&shared, &[]).unwrap().scenario;
    assert_eq!(one.to_toml().matches("egress]").count(), 1);
    assert_eq!(read(&one.to_toml(), &[]).unwrap().scenario, one);
}

/// A preset applies to both directions of the egress links, each with its own rates, and to no other link.
#[test]
fn preset_applies_to_both_directions_of_last_hop() {
    let scenario = read(AAQM, &[]).unwrap().scenario;
    let net = lower::network(&scenario, &scenario.compare[0].spec, 1);
    for link in &net.links {
        let is_hop = link.name.starts_with("egress");
        assert_eq!(
            (link.lane.conditions.levels.is_some(), link.lane.conditions.loss.is_some()),
            (is_hop, is_hop),
            "{}",
            link.name
        );
    }
    assert_eq!(net.links.iter().filter(|link| link.name.starts_with("egress")).count(), 2 * 12);
}

/// Twelve stations share a link of 10 Mb/s, which limits their rates, not their wireless last hops.
#[test]
fn all_host_groups_get_throughput_and_seeds_differ() {
    let first = run(&[], 1);
    assert!(first.summary.utilisation > 0.9, "{}", first.summary.utilisation);
    let of = |group: &str| first.flows.iter().filter(|f| f.group == group).map(|f| f.goodput_bytes).sum::<u64>();
    assert!(["near", "middle", "far"].iter().all(|group| of(group) > 5_000_000), "more than 0.7 Mb/s each");
    assert_eq!(first.summary.fingerprint, run(&[], 1).summary.fingerprint);
    assert_ne!(first.summary.fingerprint, run(&[], 2).summary.fingerprint);
    // A last hop of 64 to 384 kb/s is the bottleneck of its group.
    let narrow = run(&["topology.access.umts.egress.preset=umts"], 1);
    let far: u64 = narrow.flows.iter().filter(|f| f.group == "far").map(|f| f.goodput_bytes).sum();
    assert!(far < 4 * 384_000 / 8 * 60, "{far}");
}

#[test]
fn every_host_group_needs_a_last_hop() {
    let text = AAQM.replace(", egress = { preset = \"wimax\" }", "");
    let error = read(&text, &[]).unwrap_err().to_string();
    assert!(error.contains("topology.egress") && error.contains("a key egress in each access group"), "{error}");
    let small = read(AAQM, &["topology.access.wimax.egress.queue=1000b"]).unwrap_err().to_string();
    assert!(small.contains("topology.access.1.egress.queue") && small.contains("at least 1282b"), "{small}");
}
