//! Every claim of a paper has a recorded quick verdict, and there are no others.

use serde_json::{Map, Value};

use crate::base::tree::Tree;

/// Ids that are only in one of `claims.toml` and `expected-quick.json`.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    let claims = tree.files().filter_map(|file| {
        let folder = file.path.strip_suffix("claims.toml").filter(|folder| folder.starts_with("papers/"))?;
        Some((folder, &file.text))
    });
    claims.flat_map(|(folder, claims)| paper(tree, folder, claims)).collect()
}

fn paper(tree: &Tree, folder: &str, claims: &str) -> Vec<String> {
    let path = format!("{folder}expected-quick.json");
    let Some(recorded) = tree.get(&path) else { return vec![format!("{path} is missing: cargo xtask bless")] };
    let Ok(recorded) = serde_json::from_str::<Map<String, Value>>(&recorded.text) else {
        return vec![format!("{path}: not a JSON object")];
    };
    let Ok(claims) = toml::from_str::<toml::Table>(claims) else {
        return vec![format!("{folder}claims.toml: is no TOML")];
    };
    let claims = claims.get("claim").and_then(toml::Value::as_array);
    let ids: Vec<&str> = claims.into_iter().flatten().filter_map(|claim| claim.get("id")?.as_str()).collect();
    let missing = ids.iter().filter(|id| !recorded.contains_key(**id)).map(|id| format!("{path}: no verdict on {id}"));
    let extra = recorded.keys().filter(|id| !ids.contains(&id.as_str())).map(|id| format!("{path}: {id} is no claim"));
    missing.chain(extra).collect()
}

#[cfg(test)]
mod tests {
    use super::super::planted::finds;
    use super::check;

    #[test]
    fn finds_claims_without_verdict_and_verdicts_without_claim() {
        let claims = ("papers/x/claims.toml", "[[claim]]\nid = \"X-1\"\n[[claim]]\nid = \"X-2\"");
        for (expected, want) in [
            (r#"{"X-1": "reproduced", "X-2": "refuted"}"#, ""),
            (r#"{"X-1": "reproduced"}"#, "papers/x/expected-quick.json: no verdict on X-2"),
            (r#"{"X-1": "", "X-2": "", "X-3": ""}"#, "X-3 is no claim"),
            ("[]", "not a JSON object"),
        ] {
            finds(check, &[claims, ("papers/x/expected-quick.json", expected)], want);
        }
        finds(check, &[claims], "is missing");
    }
}
