//! `docs/scenario.schema.json` is the schema of the scenario reader; FOREBAY_BLESS=1 rewrites it.

use std::path::Path;

use forebay_lab::scenario;

#[test]
fn the_published_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.schema.json");
    let current = format!("{:#}\n", scenario::schema());
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == current, "docs/scenario.schema.json is stale: cargo xtask bless");
}
