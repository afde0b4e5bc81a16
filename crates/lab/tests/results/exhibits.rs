//! Figures, tables, seeds and the index of invented papers, from their files to the pages.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use forebay_lab::batch::Control;
use forebay_lab::claim_file;
use forebay_lab::load;
use forebay_lab::lock::{Wait, WriteLock};
use forebay_lab::papers::{PAPERS, Paper};
use forebay_lab::plan::Plan;
use forebay_lab::report;
use forebay_lab::reproduce::{Level, Reproduction};
use forebay_lab::results::meta::Origin;
use forebay_lab::scenario::Overrides;
use serde_json::{Value, json};

const SCENARIO: &str = include_str!("../data/short.toml");

const HEAD: &str = include_str!("../data/paper.toml");

const EXHIBITS: &str = r#"
[[figure]]
id = "Fig. 1"
title = "series"
section = "queue"
kind = "series"
claims = ["ONE-1"]
where = { q = "5" }
seed = 2
x = { label = "time", unit = "s", from = 1, to = 2 }
y = { label = "queue", unit = "packets", series = "queue_mean_pkts", scale = 0.5 }
lines = [{ of = "raqm q0={q}", label = "RAQM" }, { of = "raqm q0={q}", label = "p", series = "raqm.p" }]

[[figure]]
id = "Fig. 2"
title = "curve over an axis"
section = "queue"
kind = "curve"
x = { label = "q0", axis = "q", scale = 2 }
y = { label = "queue", quantity = "queue_pkts.mean", from = 0, to = 0.001 }
rules = [{ axis = "y", at = 1, slope = 0.5, label = "1 + x/2" }]
lines = [{ of = "raqm q0={q}" }, { of = "droptail", quantity = "queue_pkts.max" }, { of = "red" }]

[[figure]]
id = "Fig. 3"
title = "curve over a quantity"
section = "queue"
kind = "curve"
x = { label = "queue", quantity = "queue_pkts.mean" }
y = { label = "goodput", quantity = "goodput_ratio" }
lines = [{ of = "raqm q0={q}", where = { q = "10" } }]

[[figure]]
id = "Fig. 4"
title = "bars by group"
section = "queue"
kind = "bars"
where = { q = "5" }
groups = ["mean", "p99", "wrong"]
group_labels = ["mean", "99 %", "?"]
group_scales = [1, 0.5, 1]
x = { label = "of the queue" }
y = { label = "queue", quantity = "queue_pkts.{group}" }
lines = [{ of = "raqm q0=5" }, { of = "droptail" }]

[[figure]]
id = "Fig. 5"
title = "bars over an axis"
section = "queue"
kind = "bars"
x = { label = "q0", axis = "q" }
y = { label = "loss", quantity = "loss_ratio", log = true }
rules = [{ axis = "y", at = 0.1, label = "a tenth" }]
lines = [{ of = "droptail" }]

[[figure]]
id = "Fig. 6"
title = "distribution"
section = "queue"
kind = "cdf"
where = { q = "5" }
x = { label = "queue" }
y = { label = "share" }
lines = [{ of = "droptail" }]

[[figure]]
id = "Fig. 7"
title = "a counter as a rate"
section = "queue"
kind = "series"
where = { q = "5" }
x = { label = "time" }
y = { label = "rate", series = "class.0.delivered_bytes", rate = 1, scale = 8e-6 }
lines = [{ of = "droptail" }]

[[figure]]
id = "Fig. 8"
title = "a model alone"
section = "theory"
kind = "curve"
claims = ["ONE-2"]
x = { label = "th", unit = "%", scale = 100 }
y = { label = "loss" }
lines = [{ model = "aaqm-loss", label = "all" }, { model = "aaqm-loss www" }]

[[figure]]
id = "Fig. 9"
title = "a model and runs"
section = "queue"
kind = "density"
where = { q = "5" }
x = { label = "queue" }
y = { label = "share" }
lines = [{ of = "droptail" }, { model = "tail-linear n=20 sigma=77021 w=10.35" }]

[[table]]
id = "Table 1"
title = "numbers"
section = "queue"
claims = ["ONE-1"]
columns = [
  { label = "longest", unit = "packets", quantity = "queue_pkts.max", digits = 1, tolerance = 0.5 },
  { label = "the same", unit = "%", quantity = "queue_pkts.max", scale = 5, digits = 0, tolerance_percent = 10 },
  { label = "loss", quantity = "loss_ratio", digits = 3 },
]
rows = [
  { label = "drop-tail", of = "droptail", where = { q = "5" }, printed = [20, 50, nan] },
  { of = "droptail" },
]

[[table]]
id = "Table 2"
title = "inputs"
section = "queue"
columns = [{ label = "one", digits = 1 }, { label = "two", digits = 1 }]
rows = [{ label = "weight", given = [1, 2.5], printed = [1, 2.4] }]
"#;

/// A paper of a test is never freed.
fn paper(name: &'static str, text: &str) -> &'static Paper {
    let claims = Box::leak(text.to_string().into_boxed_str());
    Box::leak(Box::new(Paper {
        name,
        summary: "",
        folder: "papers/test",
        is_suite: false,
        registered: None,
        claims,
        scenarios: &[("s", SCENARIO)],
        readings: "",
        found: "{}",
        arithmetic: "",
    }))
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("exhibits-{name}"));
    let _ = fs::remove_dir_all(&dir);
    dir
}

/// Builds the page of a directory.
fn page(dir: &Path) -> PathBuf {
    report::build(&WriteLock::take(dir, &Wait::NEVER).unwrap(), &Wait::NEVER).unwrap()
}

fn reproduce(paper: &'static Paper, level: Level, dir: &Path) -> Value {
    let stop = AtomicBool::new(false);
    let control = Control::silent(&stop);
    Reproduction::new(paper, level, |_| true).unwrap().run(dir, &Origin::default(), &control).unwrap();
    let html = fs::read_to_string(page(dir)).unwrap();
    let (_, data) = html.split_once("id=\"forebay-data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

fn figure<'a>(page: &'a Value, id: &str) -> &'a Value {
    page["figures"].as_array().unwrap().iter().find(|f| f["id"] == id).unwrap()
}

fn points(figure: &Value, line: usize) -> Vec<(f64, f64)> {
    let points = &figure["series"][line]["points"];
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    if let Some(y) = points["y"].as_array() {
        let (from, step) = (number(&points["from"]), number(&points["step"]));
        return y.iter().enumerate().map(|(k, y)| (from + k as f64 * step, number(y))).collect();
    }
    points.as_array().unwrap().iter().map(|p| (number(&p[0]), number(&p[1]))).collect()
}

#[test]
fn figures_have_lines_axis_ranges_and_error_bars() {
    let page = reproduce(paper("one", &format!("{HEAD}{EXHIBITS}")), Level::Quick, &folder("figures"));
    let first = figure(&page, "Fig. 1");
    assert_eq!((&first["kind"], &first["layout"]), (&json!("line"), &json!("small-multiples")));
    assert_eq!((&first["x"]["min"], &first["x"]["max"], &first["y"]["max"]), (&json!(1.0), &json!(2.0), &Value::Null));
    assert!(points(first, 0).len() > 10 && points(first, 0).iter().all(|(_, q)| (0.0..=10.0).contains(q)));
    assert_eq!(points(first, 0).len(), points(first, 1).len());
    assert_eq!(first["caption"], "Seed 2. At q = 5.");

    let second = figure(&page, "Fig. 2");
    assert_eq!(points(second, 0).iter().map(|p| p.0).collect::<Vec<_>>(), [10.0, 20.0]);
    let bar = &second["series"][0]["bars"][0];
    assert!(bar[0].is_null() && bar[2].as_f64() < bar[3].as_f64(), "a place on an axis has no whisker: {bar}");
    assert_eq!(points(second, 1)[0].1, 20.0, "a line may have its own quantity");
    assert_eq!(points(second, 2), [], "no such contender");
    assert_eq!(points(second, 3), [(10.0, 6.0), (20.0, 11.0)], "a rule that slopes ends with the data");
    assert_eq!((&second["series"][3]["name"], &second["rules"]), (&json!("1 + x/2"), &json!([])));
    let caption = second["caption"].as_str().unwrap();
    assert!(caption.contains("exceed the y axis: up to ") && caption.contains("Not drawn: no run of 'red'"));

    let third = figure(&page, "Fig. 3");
    assert_eq!(points(third, 0).len(), 1);
    assert!(third["series"][0]["bars"][0][0].is_f64(), "a quantity along x has whiskers there too");

    let fourth = figure(&page, "Fig. 4");
    assert_eq!(fourth["x"]["categories"], json!(["mean", "99 %", "?"]));
    assert_eq!(points(fourth, 1)[1], (1.0, 10.0), "half of the buffer's 20 packets");
    assert_eq!(points(fourth, 1).len(), 2);
    assert!(fourth["caption"].as_str().unwrap().contains("Not drawn: a run has no number called 'queue_pkts.wrong'"));

    assert_eq!(figure(&page, "Fig. 5")["x"]["categories"], json!(["5", "10"]));
    assert_eq!(figure(&page, "Fig. 5")["y"]["scale"], "log");
    assert_eq!(figure(&page, "Fig. 5")["rules"][0], json!({ "axis": "y", "at": 0.1, "label": "a tenth" }));
    assert_eq!(points(figure(&page, "Fig. 6"), 0).last().unwrap(), &(20.0, 1.0));

    // In Mb/s, of a link of 1 Mb/s; a packet has 12 kb.
    let rates = points(figure(&page, "Fig. 7"), 0);
    assert_eq!(rates.iter().map(|p| p.0).collect::<Vec<_>>(), [1.002, 2.001, 3.0]);
    assert!(rates.iter().all(|p| (0.5..=1.013).contains(&p.1)), "{rates:?}");
}

#[test]
fn model_curves_are_drawn_alone_or_with_simulations() {
    let page = reproduce(paper("one", &format!("{HEAD}{EXHIBITS}")), Level::Quick, &folder("models"));
    let alone = figure(&page, "Fig. 8");
    assert_eq!(alone["caption"], "Computed by the model, without simulation.");
    assert_eq!((&alone["series"][0]["name"], &alone["series"][1]["name"]), (&json!("all"), &json!("aaqm-loss www")));
    assert_eq!((points(alone, 0).len(), points(alone, 0)[14].0), (15, 95.0), "in % of the buffer");
    assert_eq!(page["sections"][1]["figures"], json!(["Fig. 8"]));
    let both = figure(&page, "Fig. 9");
    assert_eq!((points(both, 0).len(), points(both, 1).len()), (21, 500));
    assert!(!both["caption"].as_str().unwrap().contains("Not drawn"));
}

/// The standard figures of the disciplines' internal variables and of the queue distribution stay.
#[test]
fn figures_of_a_paper_replace_standard_figures() {
    let page = reproduce(paper("one", &format!("{HEAD}{EXHIBITS}")), Level::Quick, &folder("place"));
    let ids = page["sections"][0]["figures"].as_array().unwrap();
    let own = ["Fig. 1", "Fig. 2", "Fig. 3", "Fig. 4", "Fig. 5", "Fig. 6", "Fig. 7", "Fig. 9"];
    assert_eq!(ids[..8], own.map(Value::from));
    let rest: Vec<&str> = ids[8..].iter().map(|id| id.as_str().unwrap()).collect();
    assert_eq!(rest, ["queue-probe-p-0", "queue-probe-p-1", "queue-cdf-0", "queue-cdf-1"]);
    assert_eq!(page["sections"][0]["tables"][0], "Table 1");
    let shown = json!([{ "kind": "figure", "id": "Fig. 1" }, { "kind": "table", "id": "Table 1" }]);
    assert_eq!(page["claims"][0]["shown"], shown);
    let bare = reproduce(paper("one", HEAD), Level::Quick, &folder("bare"));
    assert_eq!(bare["sections"][0]["figures"][0], "queue-queue-0");
}

#[test]
fn table_cells_have_computed_and_published_numbers() {
    let dir = folder("tables");
    let page = reproduce(paper("one", &format!("{HEAD}{EXHIBITS}")), Level::Quick, &dir);
    let table = page["tables"].as_array().unwrap().iter().find(|t| t["id"] == "Table 1").unwrap();
    let row = &table["rows"][0];
    assert_eq!(row[0], "drop-tail");
    assert_eq!(row[1], json!({ "text": "20.0 ± 0.0", "printed": "20.0, +0.0", "outcome": null }));
    assert_eq!(row[2], json!({ "text": "100 ± 0", "printed": "50, +100.0 %", "outcome": "fails" }));
    assert!(row[3]["printed"].is_null(), "the paper printed none");
    assert_eq!(table["rows"][1][1]["text"], "2 combinations of the axes match");

    let kept: Value = serde_json::from_slice(&fs::read(dir.join("tables.json")).unwrap()).unwrap();
    assert_eq!((&kept["version"], &kept["paper"], &kept["level"]), (&json!(1), &json!("one"), &json!("quick")));
    let cell = &kept["tables"][0]["rows"][0]["cells"][1];
    assert_eq!((&cell["mean"], &cell["printed"], &cell["n"]), (&json!(100.0), &json!(50.0), &json!(2)));
    assert_eq!((&cell["difference_percent"], &cell["outcome"]), (&json!(100.0), &json!("fails")));
}

#[test]
fn tables_of_parameters_get_no_verdict() {
    let page = reproduce(paper("one", &format!("{HEAD}{EXHIBITS}")), Level::Quick, &folder("given"));
    let table = page["tables"].as_array().unwrap().iter().find(|t| t["id"] == "Table 2").unwrap();
    assert!(table["caption"].as_str().unwrap().contains("not measurements"));
    assert_eq!(table["rows"][0][1], json!({ "text": "1.0", "printed": "1.0, +0.0", "outcome": null }));
    assert_eq!(table["rows"][0][2], json!({ "text": "2.5", "printed": "2.4, +0.1", "outcome": null }));
}

#[test]
fn seed_count_comes_from_experiment_paper_or_default() {
    let runs = |text: &str, level| Reproduction::new(paper("one", text), level, |_| true).unwrap().runs();
    let groups = 4;
    assert_eq!(runs(HEAD, Level::Quick), 2 * groups);
    assert_eq!(runs(HEAD, Level::Normal), 4 * groups);
    assert_eq!(runs(HEAD, Level::Full), 7 * groups);
    let bare = HEAD.replace("seeds = { quick = 2, full = 7 }", "");
    assert_eq!([Level::Quick, Level::Full].map(|level| runs(&bare, level)), [3 * groups, 30 * groups]);
    assert!(claim_file::parse(&HEAD.replace("quick = 2", "quick = 0")).unwrap_err().contains("seeds"));
}

/// An experiment (section) without claims is run only if a figure or table of it lists claims that it illustrates.
#[test]
fn table_that_lists_claims_makes_its_experiment_run() {
    let other = "[[section]]\nid = \"other\"\ntitle = \"t\"\ntext = \"t\"\nscenario = \"t\"\nsubject = \"droptail\"\n";
    let table = |claims: &str| {
        let column = "{ label = \"l\", quantity = \"queue_pkts.mean\", digits = 1 }";
        format!(
            "[[table]]\nid = \"T\"\ntitle = \"t\"\nsection = \"other\"\n{claims}\ncolumns = [{column}]\n\
             rows = [{{ of = \"droptail\", printed = [nan] }}]\n"
        )
    };
    let runs = |claims: &str| {
        let text = format!("{HEAD}{other}{}", table(claims));
        let paper = Paper { scenarios: &[("s", SCENARIO), ("t", SCENARIO)], ..*paper("one", &text) };
        Reproduction::new(Box::leak(Box::new(paper)), Level::Quick, |_| true).unwrap().runs()
    };
    assert_eq!((runs(""), runs("claims = [\"ONE-1\"]")), (8, 16));
}

#[test]
fn invalid_figures_and_tables_are_refused() {
    let file = format!("{HEAD}{EXHIBITS}");
    for (from, to, what) in [
        ("id = \"Fig. 2\"", "id = \"Fig. 1\"", "there are two"),
        ("claims = [\"ONE-1\"]", "claims = [\"ONE-9\"]", "no claim 'ONE-9'"),
        ("section = \"queue\"\nkind = \"series\"", "section = \"theory\"\nkind = \"series\"", "no section 'theory'"),
        ("from = 1, to = 2", "from = 2, to = 1", "ends before it begins"),
        ("{ model = \"aaqm-loss www\" }", "{ model = \"aaqm-loss cbr\" }", "'cbr' is none of"),
        ("{ model = \"aaqm-loss www\" }", "{ label = \"x\" }", "either a contender or a model"),
        (
            "{ model = \"aaqm-loss www\" }",
            "{ of = \"droptail\", quantity = \"loss_ratio\" }",
            "x needs either an axis or a quantity",
        ),
        ("axis = \"q\", scale = 2", "scale = 2", "x needs either an axis or a quantity"),
        ("groups = [\"mean\", \"p99\", \"wrong\"]", "", "bars need either groups"),
        ("group_scales = [1, 0.5, 1]", "group_scales = [1]", "one number per group"),
        ("[20, 50, nan]", "[20, 50]", "one number per column"),
        ("tolerance = 0.5", "tolerance = 0.5, tolerance_percent = 1", "absolute or in %"),
        ("given = [1, 2.5]", "given = [1, nan, 2]", "given needs one number per column"),
        ("given = [1, 2.5]", "given = [1]", "given needs one number per column"),
        ("given = [1, 2.5]", "of = \"droptail\"", "does not say which quantity"),
        ("given = [1, 2.5], ", "", "either a contender or given"),
        ("kind = \"cdf\"", "kind = \"pie\"", "unknown variant `pie`"),
        ("axis = \"y\"", "axis = \"z\"", "x or y"),
        ("axis = \"y\", at = 0.1", "axis = \"y\", slope = 1, at = 0.1", "of a curve has a slope"),
        ("group_labels = [\"mean\", \"99 %\", \"?\"]", "group_labels = [\"mean\"]", "one label per group"),
        ("rate = 1", "rate = 0", "a time above 0 s"),
        (
            "quantity = \"loss_ratio\", log = true",
            "quantity = \"loss_ratio\", rate = 1",
            "only y of a series has a rate",
        ),
    ] {
        assert!(file.contains(from), "{from}");
        let error = claim_file::parse(&file.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(what), "{what}: {error}");
    }
}

/// The discipline and the values of varied keys of every curve and table row exist in the scenario of its experiment.
#[test]
fn figures_and_tables_use_existing_disciplines_and_values() {
    for paper in PAPERS {
        let file = claim_file::parse(paper.claims).unwrap();
        let lines = file.figures.iter().flat_map(|f| {
            let of_runs = f.lines.iter().filter(|line| line.model.is_none());
            of_runs.map(|l| (&f.id, &f.section, &l.of, f.points_of(l)))
        });
        let rows = file.tables.iter().flat_map(|t| {
            let of_runs = t.rows.iter().filter(|row| row.given.is_empty());
            of_runs.map(|r| (&t.id, &t.section, &r.of, r.at_points.clone()))
        });
        for (id, section, of, at_points) in lines.chain(rows) {
            let section = file.sections.iter().find(|s| s.id == *section).unwrap();
            let name = section.scenario.as_ref().unwrap();
            let (_, text) = paper.scenarios.iter().find(|(n, _)| n == name).unwrap();
            let plan = Plan::new(load::parse(name, text, &Overrides::default()).unwrap(), 1, 1);
            let mut here = plan
                .cases
                .iter()
                .filter(|case| at_points.iter().all(|at| case.axes.iter().any(|(axis, value)| (axis, value) == at)));
            let is_compared = here.any(|case| {
                let name = case.axes.iter().fold(of.clone(), |name, (k, v)| name.replace(&format!("{{{k}}}"), v));
                case.scenario.compare.iter().any(|c| c.label == name)
            });
            assert!(is_compared, "{} {id}: nothing like '{of}' at {at_points:?}", paper.name);
        }
    }
}

/// The given values of a table, row by row; the text of the scenario; and its contenders with all parameters.
fn given_beside_scenario(paper: &str, table: &str, scenario: &str) -> (Vec<Vec<f64>>, &'static str, Vec<String>) {
    let paper = PAPERS.iter().find(|one| one.name == paper).unwrap();
    let file = claim_file::parse(paper.claims).unwrap();
    let rows = file.tables.into_iter().filter(|t| t.id == table).flat_map(|t| t.rows);
    let (_, text) = paper.scenarios.iter().find(|(name, _)| *name == scenario).unwrap();
    let plan = Plan::new(load::parse(scenario, text, &Overrides::default()).unwrap(), 1, 1);
    let compared = plan.cases[0].scenario.compare.iter().map(|c| format!("{} as {}", c.label, c.spec.canonical()));
    (rows.map(|row| row.given).collect(), text, compared.collect())
}

/// Table II of the RED+Tail paper lists settings, not results: it must agree with the scenario.
#[test]
fn red_tail_table_ii_agrees_with_its_scenario() {
    let (given, scenario, compared) = given_beside_scenario("red-tail", "Table II", "mixed");
    let [one, two, ared] = [&given[0], &given[1], &given[2]];
    for row in [one, two, ared] {
        assert!(scenario.contains(&format!("queue = \"{}b\"", 1000.0 * row[0])), "{row:?}");
    }
    assert!(one[3].is_nan() && one[4].is_nan());
    let has = |label: &str, part: String| {
        let words = compared.iter().find(|words| words.starts_with(&format!("{label} as "))).unwrap();
        assert!(format!("{words} ").contains(&format!(" {part} ")), "{part}: {words}");
    };
    let tail = "red_tail preset=paper";
    has(tail, format!("min_th1={}b max_th1={}b", 1000.0 * one[1], 1000.0 * one[2]));
    has(tail, format!("min_th2={}b max_th2={}b", 1000.0 * two[1], 1000.0 * two[2]));
    has(tail, format!("alpha={} beta={}", two[3], two[4]));
    let other = "ared min_th=20000b max_th=80000b";
    has(other, format!("min_th={}b max_th={}b", 1000.0 * ared[1], 1000.0 * ared[2]));
    has(other, format!("alpha={}", ared[3]));
    has(other, format!("beta={}", ared[4]));
}

/// Table 2 of the MSVB paper lists settings, not results: it must agree with the scenario.
#[test]
fn msvb_table_2_agrees_with_its_scenario() {
    let (given, scenario, compared) = given_beside_scenario("msvb", "Table 2", "weighted");
    // Classes 1, 5; 2, 6, 9; 3, 7, 10; 4, 8.
    let by_class = |row: &[f64]| [0, 1, 2, 3, 0, 1, 2, 3, 1, 2].map(|group| row[group]);
    let words = |row: &[f64]| by_class(row).map(|x| x.to_string()).join("/");
    let has = |part: String| assert!(compared.iter().any(|words| words.contains(&part)), "{part}: {compared:?}");
    has(format!("weights={}", words(&given[0])));
    let cirs = by_class(&given[1]).map(|mb| format!("cir = \"{}kbit\"", (1000.0 * mb).round()));
    let found: Vec<&str> = scenario.lines().filter(|line| line.starts_with("marker")).collect();
    assert!(found.len() == 10 && found.iter().zip(&cirs).all(|(line, cir)| line.contains(cir)), "{cirs:?}");
    has(format!("phi={}", words(&given[2])));
}

/// Only a claim that does not hold has a reason: on the index page of several papers, in the report, in `claims.json`.
#[test]
fn claims_that_do_not_hold_say_why() {
    let dir = folder("why");
    let printed = "printed = \"'short'\"";
    let why = HEAD.replace(printed, &format!("{printed}\nwhy = \"Too <long>.\""));
    let wrong = why.replace("at_most = 20", "at_most = -1").replace("\"one\"", "\"two\"");
    let pages = [("one", &why), ("two", &wrong)]
        .map(|(name, text)| reproduce(paper(name, text), Level::Quick, &dir.join(name))["claims"][0].take());
    assert_eq!(pages.each_ref().map(|claim| claim["verdict"].clone()), [json!("reproduced"), json!("not-reproduced")]);
    assert_eq!(pages.each_ref().map(|claim| claim["why"].clone()), [json!(null), json!("Too <long>.")]);
    let [held, failed] = ["one", "two"]
        .map(|name| fs::read_to_string(dir.join(name).join("claims.json")).unwrap().contains("Too <long>."));
    assert!(!held && failed);
    let folders = ["one", "two"].map(|name| (name, name.to_string()));
    report::record_index(&dir, "quick", &folders, &Origin::default(), &Wait::NEVER).unwrap();
    let html = fs::read_to_string(report::build_index(&dir, &Wait::NEVER).unwrap()).unwrap();
    assert_eq!(html.matches("Too &lt;long&gt;.").count(), 1, "{html}");
    assert!(html.contains("papers/two/README.md"));
}

#[test]
fn index_has_every_paper_with_claims_and_links() {
    let dir = folder("index");
    reproduce(paper("one", HEAD), Level::Quick, &dir.join("first one"));
    let other = HEAD.replace("ONE-", "TWO-").replace("\"one\"", "\"two\"");
    reproduce(paper("two", &other), Level::Quick, &dir.join("second"));
    let folders = [("two", "second"), ("one", "first one"), ("three", "third")].map(|(p, at)| (p, at.to_string()));
    let command = Origin { command: Some("a <command>".to_string()), ..Origin::default() };
    report::record_index(&dir, "quick", &folders, &command, &Wait::NEVER).unwrap();
    let html = fs::read_to_string(report::build_index(&dir, &Wait::NEVER).unwrap()).unwrap();
    for part in [
        "<title>Reproduction of 3 papers",
        "href=\".&#x2f;first%20one&#x2f;report.html\"",
        "report.html#claim-TWO-2\"",
        "A paper with &lt;b&gt;figures&lt;&#x2f;b&gt; &amp; tables",
        "The queue is &lt;short&gt;.",
        "a &lt;command&gt;",
        "not finished",
        "mean queue (q = 5): ",
        "data-errors=\"0\"",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    assert!(!html.contains("<script") && !html.contains("http://") && !html.contains("https://"));
    assert_eq!(page(&dir), dir.join("index.html"), "report DIR builds it again");

    // A further batch adds to it; other files are left alone.
    report::record_index(&dir, "quick", &[("four", "fourth".to_string())], &Origin::default(), &Wait::NEVER).unwrap();
    assert!(
        fs::read_to_string(report::build_index(&dir, &Wait::NEVER).unwrap())
            .unwrap()
            .contains("Reproduction of 4 papers")
    );
    assert!(report::record_index(&dir, "full", &[], &Origin::default(), &Wait::NEVER).is_err());
    assert!(report::record_index(&dir.join("second"), "quick", &[], &Origin::default(), &Wait::NEVER).is_err());
    let own = folder("own");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("index.html"), "mine").unwrap();
    assert!(report::record_index(&own, "quick", &[], &Origin::default(), &Wait::NEVER).is_err());
    assert_eq!(fs::read_to_string(own.join("index.html")).unwrap(), "mine");
}
