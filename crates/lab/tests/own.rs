//! Custom disciplines and congestion controls that a program registers are accepted wherever a name is read, and the
//! examples of them run.

#[path = "../../../examples/my_first_aqm.rs"]
mod my_first_aqm;
#[path = "../../../examples/my_first_control.rs"]
mod my_first_control;

use std::path::Path;

use forebay_lab::load;
use forebay_lab::own;
use forebay_lab::scenario::Overrides;

const FTP: &str = include_str!("data/ftp.toml");

#[test]
fn example_discipline_runs_and_is_parsed_after_registration() {
    std::env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    my_first_aqm::main().unwrap();
    // After registration it is read, checked and written like a built-in one.
    let spec = own::parse("my_first slope=0.5 ecn=off").unwrap();
    assert_eq!((spec.name(), spec.canonical().as_str()), ("my_first", "my_first slope=0.5 ecn=off"));
    assert_eq!(own::parse(&spec.canonical()).unwrap(), spec);
    assert_eq!(spec.entry().about.source, "mine");
    let error = own::parse("my_first slop=0.5").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean slope?"));
    assert!(own::parse("my_first slope=7").unwrap_err().accepts.contains("from 0 to 1"));
}

#[test]
fn registering_duplicate_or_built_in_name_is_refused() {
    assert!(!own::register(forebay_aqm::base::own::Own::aqm::<forebay_aqm::aqm::red::Red>("red")));
    assert!(own::register(forebay_aqm::base::own::Own::aqm::<forebay_aqm::aqm::red::Red>("my_red")));
    assert!(!own::register(forebay_aqm::base::own::Own::aqm::<forebay_aqm::aqm::red::Red>("my_red")));
}

/// A built-in discipline that is registered again under another name is called through a pointer. It gives the same
/// packets.
#[test]
fn copy_of_built_in_discipline_gives_same_run() {
    own::register(forebay_aqm::base::own::Own::law::<forebay_aqm::law::pi::Pi>("my_pi"));
    own::register(forebay_aqm::base::own::Own::queue::<forebay_aqm::queue::red_tail::RedTail>("my_red_tail"));
    for (own, built_in) in [("my_pi q_ref=20", "pi q_ref=20"), ("my_red_tail n=5", "red_tail n=5")] {
        let overrides = Overrides { aqm: vec![own.to_string(), built_in.to_string()], ..Overrides::default() };
        let plan = forebay_lab::plan::Plan::new(load::parse("own", FTP, &overrides).unwrap(), 1, 1);
        let runs = plan.jobs().into_iter().map(|job| plan.run(job, &mut ()).unwrap().unwrap());
        let prints: Vec<String> = runs.map(|run| run.summary.fingerprint.clone()).collect();
        assert_eq!(prints[0], prints[1], "{own}");
    }
}

#[test]
fn registered_congestion_control_is_parsed_and_written() {
    std::env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    my_first_control::main().unwrap();
    let sets = vec!["flows.ftp.tcp=own:scalable".to_string()];
    let cases = load::file("papers/raqm/case-1.toml".as_ref(), &Overrides { sets, ..Overrides::default() }).unwrap();
    let written = cases[0].scenario.to_toml();
    assert!(written.contains("tcp = \"own:scalable\""), "{written}");
    let sets = vec!["flows.ftp.tcp=scalabel".to_string()];
    let error =
        load::file("papers/raqm/case-1.toml".as_ref(), &Overrides { sets, ..Overrides::default() }).unwrap_err();
    assert!(error.to_string().contains("scalable"), "{error}");
}
