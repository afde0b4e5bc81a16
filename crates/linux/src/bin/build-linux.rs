//! Builder.
fn main() {}
