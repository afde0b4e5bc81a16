//! The comparisons with other simulators are current. They take minutes of CPU time: `cargo xtask test peers`.

#[test]
fn committed_comparison_with_ns2_is_current() {
    validation::ns2::check().unwrap();
}

#[test]
fn committed_comparison_with_ns3_is_current() {
    validation::ns3::check().unwrap();
}
