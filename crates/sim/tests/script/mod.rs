//! Reads and runs scripts; the language is described in `scripts/README.md`.

mod checks;
mod ends;
mod path;
mod words;

use ends::Stage;

/// Runs a script. An error is the failed check with its line.
pub(crate) fn run(name: &str, text: &str) -> Result<(), String> {
    let mut stage = Stage::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            step(&mut stage, line).map_err(|what| format!("{name}:{}: {what}", number + 1))?;
        }
    }
    Ok(())
}

fn step(stage: &mut Stage, line: &str) -> Result<(), String> {
    let (event, outcome) = match line.split_once("->") {
        Some((event, outcome)) => (event, Some(outcome.trim())),
        None => (line, None),
    };
    let mut words: Vec<&str> = event.split_whitespace().collect();
    let pause = match words.first() {
        Some(first) if first.starts_with('+') => words::span(&words.remove(0)[1..])?,
        _ => words::span("0s")?,
    };
    let Some((&verb, rest)) = words.split_first() else { return stage.expect_sends(outcome.unwrap_or_default()) };
    if stage.set_up(verb, rest)? || checks::check(stage, verb, rest)? {
        return Ok(());
    }
    if stage.is_receiver() {
        return stage.receive(pause, verb, rest, outcome.unwrap_or_default());
    }
    if !stage.send(pause, verb, rest)? {
        return Err(format!("no such event or check: {verb}"));
    }
    if stage.path.is_some() { Ok(()) } else { stage.expect_sends(outcome.unwrap_or_default()) }
}
