//! Converts the settings of a discipline in Forebay's own syntax, `key=value` as in `red max_p=0.1 ecn=off`, to its
//! parameters, and parameters to this syntax.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::base::common::Common;
use crate::base::design::{Design, Preset};
use crate::base::nearest::nearest;
use crate::base::params::{ParamError, ParamSet, ParamSpec};
use crate::base::tc::Setting;
use crate::base::text::joined;

/// Applies settings to the default parameters of a discipline and checks the result. `name` (the discipline) and `text`
/// (as written) are for the error message.
pub fn read<D: Design>(name: &str, text: &str, settings: &[Setting]) -> Result<(Common, D::Params), ParamError> {
    let (mut common, mut own) = (Common::default(), D::Params::default());
    apply_all(&mut common, &mut own, D::PRESETS, settings)?;
    D::check(&own).map_err(|accepts| ParamError {
        key: name.to_string(),
        found: text.to_string(),
        accepts: accepts.into(),
        hint: None,
    })?;
    Ok((common, own))
}

/// Applies settings in order; an error shows the setting as written.
pub fn apply_all<P: ParamSet>(
    common: &mut Common,
    own: &mut P,
    presets: &[Preset],
    settings: &[Setting],
) -> Result<(), ParamError> {
    let mut settings = settings.iter();
    settings.try_for_each(|s| apply(common, own, presets, &[&s.text]).map_err(|error| s.blame(error)))
}

/// Applies settings `key=value` to the common parameters and to those of a discipline. If a parameter is set twice, the
/// later setting applies.
pub fn apply<P: ParamSet>(
    common: &mut Common,
    own: &mut P,
    presets: &[Preset],
    words: &[&str],
) -> Result<(), ParamError> {
    for word in words {
        let named = word.split_once('=').filter(|(key, _)| !key.is_empty());
        let (key, value) = named.ok_or_else(|| ParamError {
            key: word.to_string(),
            found: word.to_string(),
            accepts: "key=value".into(),
            hint: nearest(word, names(P::SPECS)).map(|near| format!("did you mean {near}=...?")),
        })?;
        if key == "preset" {
            let preset = presets.iter().find(|p| p.name == value).ok_or_else(|| ParamError {
                key: key.to_string(),
                found: value.to_string(),
                accepts: match presets {
                    [] => "no preset: this discipline has none".into(),
                    _ => format!("one of {}", joined(presets.iter().map(|p| p.name))).into(),
                },
                hint: nearest(value, presets.iter().map(|p| p.name)).map(|near| format!("did you mean {near}?")),
            })?;
            let words: Vec<&str> = preset.settings.split_whitespace().collect();
            apply(common, own, presets, &words)?;
            continue;
        }
        let outcome = own.set(key, value).or_else(|| common.set(key, value));
        outcome.unwrap_or_else(|| {
            let known = || names(P::SPECS).chain(names(Common::SPECS)).chain(["preset"]);
            Err(ParamError {
                key: key.to_string(),
                found: key.to_string(),
                accepts: format!("one of {}", joined(known())).into(),
                hint: nearest(key, known()).map(|near| format!("did you mean {near}?")),
            })
        })?;
    }
    Ok(())
}

/// Checks that `preset=...` comes first and that no key occurs twice. `own` is for a variant (a discipline with a fixed
/// preset): its name and that preset. Any other preset is then an error.
pub fn once_and_in_order(words: &[&str], own: Option<(&str, &str)>) -> Result<(), ParamError> {
    let fail = |key: &str, found: String, accepts: String, hint| {
        Err(ParamError { key: key.to_string(), found, accepts: accepts.into(), hint })
    };
    let settings = || words.iter().filter_map(|word| word.split_once('='));
    for (i, (key, value)) in settings().enumerate() {
        if let Some((_, before)) = settings().take(i).find(|(earlier, _)| *earlier == key) {
            return fail(key, format!("{key}={before} {key}={value}"), format!("{key}=... once"), None);
        }
        if key == "preset" && i > 0 {
            let before = settings().take(i).map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ");
            let accepts = format!("preset={value} {before}");
            return fail(key, format!("{before} preset={value}"), accepts, Some("preset=... goes first".to_string()));
        }
        match own {
            Some((name, preset)) if key == "preset" && value != preset => {
                return fail(key, value.to_string(), format!("no other preset: {name} is preset={preset}"), None);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The settings as text: every parameter of the discipline in order of declaration, then `ecn` and each other common
/// parameter that is not at its default. A space precedes each `key=value`.
pub fn canonical<P: ParamSet>(common: &Common, own: &P) -> String {
    let mut out = String::new();
    for spec in P::SPECS {
        out.push_str(&format!(" {}={}", spec.name, own.get(spec.name).unwrap_or_default()));
    }
    for (name, value) in common.written() {
        out.push_str(&format!(" {name}={value}"));
    }
    out
}

fn names(specs: &'static [ParamSpec]) -> impl Iterator<Item = &'static str> {
    specs.iter().map(|s| s.name)
}
