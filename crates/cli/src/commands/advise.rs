//! `forebay advise`: which discipline of Linux suits a line.

use forebay_lab::commands::advise::{self, Advice, Asked, Options, Profile, Ranked};
use forebay_lab::render::digits::interval;
use forebay_lab::render::look::Tone;
use forebay_lab::render::text_table::Table;
use forebay_lab::stats::Interval;

use crate::args::AdviseArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Simulates the candidates for the line that the arguments describe, and prints the ranking and the commands.
pub(crate) fn command(args: &AdviseArgs, ui: &Ui) -> Result<Exit, Failure> {
    let profile = Profile::WORDS.iter().find(|(word, _)| *word == args.profile);
    let asked = Asked {
        rate: &args.rate,
        up: args.up.as_deref(),
        rtts: &args.rtts,
        overhead: args.overhead.as_deref(),
        flows: args.flows,
        l4s: args.l4s,
        profile: profile.map_or(Profile::Household, |(_, profile)| *profile),
    };
    let options = Options {
        scenario: args.scenario.as_deref(),
        device: &args.device,
        seeds: args.runs,
        seed: args.seed,
        output: args.output.as_deref(),
        jobs: args.jobs.jobs,
    };
    let advice = ui.host(|host| advise::advise(&asked, &options, host))?;
    if ui.json() {
        ui.print_json(&advice)?;
        return Ok(Exit::Done);
    }
    ui.print(&text(ui, &advice))?;
    ui.print(&format!("results  {}\nreport   {}", advice.results.display(), advice.report.display()))?;
    Ok(Exit::Done)
}

fn text(ui: &Ui, advice: &Advice) -> String {
    let Some((best, others)) = advice.ranking.split_first() else { return String::new() };
    let mut out = answer(ui, advice, best, others);
    out.push_str(&format!("\n{}\n", table(ui, &advice.ranking)));
    out.push_str(&ui.look().wrap("", LEGEND));
    out.push_str(&format!("\nline     {}\n", advice.line));
    out.push_str(&format!(
        "runs     {}, of {} candidates; the ranking is from {} seeds of their own\n\n",
        advice.runs, advice.candidates, advice.seeds
    ));
    for command in &advice.commands {
        out.push_str(&format!("{command}\n"));
    }
    out
}

const LEGEND: &str = "score: geometric mean of the points, 1 to 100, of call, RPM, page and goodput. call: mean opinion score of calls, 1 to \
     4.5. RPM: round trips per minute. page: median load time of a page. goodput: of both directions. difference: of the \
     score from the best, paired by seed; = if its 95 % interval contains 0";

/// The best discipline, those that are level with it, how sure it is, and what it costs.
fn answer(ui: &Ui, advice: &Advice, best: &Ranked, others: &[Ranked]) -> String {
    let name = ui.tone(Tone::Strong, &best.aqm);
    let level: Vec<&str> = others.iter().filter(|other| other.is_level).map(|other| other.aqm.as_str()).collect();
    let first = if level.is_empty() {
        format!("{name} has the highest score, with {} of {} seeds.", best.wins, advice.seeds)
    } else {
        format!("{name} has the highest score; level with it: {}.", level.join(", "))
    };
    let fifo = others.iter().find(|other| other.aqm.starts_with("droptail"));
    let cost = fifo.map_or_else(String::new, |fifo| {
        let percent = 100.0 * (best.goodput_bps.mean / fifo.goodput_bps.mean - 1.0);
        let score = of(fifo.behind.as_ref(), 1.0);
        format!(" Its goodput is {percent:+.1} % against the kernel's FIFO, whose score differs by {score}.")
    });
    ui.look().wrap("", &format!("{first}{cost}"))
}

fn of(value: Option<&Interval>, factor: f64) -> String {
    interval(value.map(|it| it.mean * factor), value.map(|it| it.half * factor))
}

fn table(ui: &Ui, ranking: &[Ranked]) -> String {
    let mut table = Table::new(&["discipline", "score", "difference", "call", "RPM", "page s", "goodput Mb/s", "wins"]);
    for one in ranking {
        let behind = match &one.behind {
            None => "best".to_string(),
            Some(behind) if one.is_level => format!("{} =", of(Some(behind), 1.0)),
            Some(behind) => of(Some(behind), 1.0),
        };
        table.row(vec![
            one.aqm.clone(),
            of(Some(&one.score), 1.0),
            behind,
            of(one.mos.as_ref(), 1.0),
            of(one.rpm.as_ref(), 1.0),
            of(one.load_s.as_ref(), 1.0),
            of(Some(&one.goodput_bps), 1e-6),
            one.wins.to_string(),
        ]);
    }
    table.render(ui.look(), "")
}
