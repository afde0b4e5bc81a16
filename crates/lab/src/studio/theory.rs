//! What the linearised control loop of TCP and a discipline says about a scenario: equilibrium and stability margins.

use serde::Serialize;

use crate::commands::theory::{self, Answer, Asked, Row};
use crate::scenario::Case;
use crate::theory::answer::Stability;

/// The answers, or why there are none.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Theory {
    /// The answer for each contender.
    contenders: Vec<Loop>,
    /// Why there is no answer at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    none: Option<String>,
    /// Features of the scenario that the model ignores.
    left_out: Vec<String>,
}

/// The loop of a contender.
#[derive(Clone, Debug, Serialize)]
struct Loop {
    label: String,
    /// Equilibrium and margins.
    #[serde(skip_serializing_if = "Option::is_none")]
    stability: Option<Stability>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    none: Option<String>,
}

/// The answers for all contenders of a case.
pub(super) fn of(case: &Case) -> Theory {
    let asked = Asked::Stability { critical: false };
    let rows = match theory::of_loop("", std::slice::from_ref(case), asked) {
        Ok(document) => document.results,
        Err(error) => {
            return Theory {
                none: Some(format!("No theory for this scenario: {}. Needed: {}", error.found, error.accepts)),
                ..Theory::default()
            };
        }
    };
    let left_out = rows.first().map_or_else(Vec::new, |row| row.left_out.clone());
    Theory { contenders: rows.into_iter().map(of_row).collect(), none: None, left_out }
}

fn of_row(row: Row) -> Loop {
    let none = row.why().map(|why| why.text());
    let stability = match row.answer {
        Answer::Stability(margins) => Some(margins.here),
        _ => None,
    };
    Loop { label: row.label, stability, none }
}
