//! `forebay theory markov`: known numbers of the RED+Tail paper's model, and refused arguments.

use crate::common::Place;
use serde_json::Value;

/// The paper's network with a buffer that the widest distribution does not fill: 6 Mb/s, 1000-byte packets, 64 ms, of
/// which 1.403307 packets are on the wire.
const TAIL: &str = include_str!("../data/tail.toml");

fn place(name: &str) -> Place {
    let place = Place::new(name);
    place.write("tail.toml", TAIL);
    place
}

fn results(place: &Place, words: &[&str]) -> Vec<Value> {
    let all = [&["theory", "markov", "tail.toml", "--json"], words].concat();
    let json = place.run(&all).good().json();
    assert_eq!((&json["version"], json["topic"].as_str()), (&1.into(), Some("markov")));
    json["results"].as_array().unwrap().clone()
}

/// Equal to within 0.6 of the last printed digit.
fn printed(row: &Value, name: &str, want: &str) {
    let decimals = want.split_once('.').map_or(0, |(_, after)| after.len());
    let digit = 10f64.powi(-(decimals as i32));
    let (found, value) = (row[name].as_f64().unwrap(), want.parse::<f64>().unwrap());
    assert!((found - value).abs() <= 0.6 * digit, "{name}: {found} for {want}");
}

#[test]
fn markov_reproduces_known_numbers_of_red_tail() {
    let place = place("worked");
    let rows = results(&place, &["--p", "0.014", "--vary", "flows.ftp.count=20,40"]);
    for (row, [rest, rtt, bound, edge]) in
        rows.iter().zip([["159.02", "276.0", "29.7", "552"], ["366.04", "552.1", "14.8", "1104"]])
    {
        printed(row, "window_pkts", "10.351");
        printed(row, "q_rest_pkts", rest);
        printed(row, "rtt_ms", rtt);
        printed(row, "contraction_bound_ms", bound);
        printed(row, "edge_ms", edge);
        printed(row, "slope", "0.000000");
        printed(row, "mixed_bound_ms", rtt);
        assert_eq!(row["stable"], true);
    }
    for (count, sigma, step, mean, std, linear) in [
        ("20", "77021bit", "0.5rtt", "158.2", "6.85", "6.86"),
        ("20", "77021bit", "1rtt", "159.2", "11.93", "11.88"),
        ("20", "77021bit", "1.5rtt", "160.8", "21.10", "20.58"),
        ("20", "77021bit", "2rtt", "169.4", "51.3", ""),
        ("40", "128490bit", "0.5rtt", "367.6", "32.4", "32.4"),
        ("40", "128490bit", "1rtt", "373.7", "57.5", "56.1"),
        ("40", "128490bit", "1.5rtt", "394.0", "116.7", "97.1"),
        ("40", "128490bit", "2rtt", "450", "234", ""),
    ] {
        let count = format!("flows.ftp.count={count}");
        let words = ["--p", "0.014", "--sigma", sigma, "--step", step, "--set", &count, "--cells", "lower"];
        let row = &results(&place, &words)[0];
        printed(row, "q_mean_pkts", mean);
        printed(row, "q_std_pkts", std);
        // At two round trips f' is -1: the linear map does not settle.
        assert_eq!((&row["stable"], row["linear_std_pkts"].is_null()), (&(step != "2rtt").into(), step == "2rtt"));
        if step != "2rtt" {
            printed(row, "linear_std_pkts", linear);
        }
        let shares = row["distribution"]["share"].as_array().unwrap();
        assert_eq!((shares.len(), row["distribution"]["q_pkts"].as_array().unwrap().len()), (1200, 1200));
        assert!((shares.iter().map(|share| share.as_f64().unwrap()).sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

/// The default of --p is the drop or mark probability at the equilibrium of a control law.
#[test]
fn markov_needs_option_p_except_for_control_laws() {
    let place = place("law");
    let rows = results(&place, &["--aqm", "pi preset=ns2 q_ref=100", "--aqm", "droptail"]);
    printed(&rows[0], "q_rest_pkts", "100");
    assert_eq!((&rows[0]["stable"], &rows[0]["label"]), (&true.into(), &"pi preset=ns2 q_ref=100".into()));
    assert!(rows[1]["no_answer"].as_str().unwrap().starts_with("--p: found nothing"), "{}", rows[1]);
    let text = place.run(&["theory", "markov", "tail.toml"]).good().stdout;
    for part in ["S (6.1)", "linear", "\npi preset=ns2 q_ref=100  ", "yes"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // With p given, only the discipline's own buffer has an effect.
    let aqms = ["--aqm", "pi", "--aqm", "droptail", "--aqm", "droptail hard_limit=150p"];
    let rows = results(&place, &[&["--p", "0.014"], &aqms[..]].concat());
    assert_eq!(rows[0]["q_mean_pkts"], rows[1]["q_mean_pkts"]);
    assert!(rows[2]["no_answer"].as_str().unwrap().contains("expected one between "), "{}", rows[2]);
}

#[test]
fn wrong_arguments_are_refused() {
    let place = place("wrong");
    let markov = |words: &[&'static str]| [&["theory", "markov", "tail.toml"], words].concat();
    for (words, says) in [
        (markov(&["--p", "1.5"]), &["--p: found '1.5'", "above 0 and at most 1"][..]),
        (markov(&["--p", "-0.1"]), &["--p: found '-0.1'"]),
        (markov(&["--p", "0"]), &["--p: found '0'"]),
        (markov(&["--p", "0.9"]), &["--p: found '0.9', expected one between ", "within the buffer"]),
        (markov(&["--p", "1e-5"]), &["--p: found '1e-5', expected one between "]),
        (markov(&["--p", "0.9", "--vary", "flows.ftp.count=10,20"]), &["--p: found '0.9'"]),
        (markov(&["--aqm", "droptail"]), &["--p: found nothing", "no model"]),
        (markov(&["--set", "flows.ftp.count=20000"]), &["--p: found nothing", "no equilibrium within the buffer"]),
        (markov(&["--sigma", "-5kbit"]), &["--sigma: found '-5kbit', expected a rate"]),
        (markov(&["--sigma", "77kbps"]), &["--sigma: found '77kbps'", "write 77kbit"]),
        (markov(&["--step", "0rtt"]), &["--step: found '0rtt', expected a time above 0"]),
        (markov(&["--step", "-50ms"]), &["--step: found '-50ms'"]),
        (markov(&["--step", "5rt"]), &["--step: found '5rt'", "did you mean 5rtt?"]),
        (vec!["theory", "fluid", "tail.toml", "--p", "0.1"], &["--p: found 'fluid', expected markov"]),
        (
            vec!["theory", "stability", "tail.toml", "--cells", "lower"],
            &["--cells: found 'stability', expected markov"],
        ),
        (markov(&["--cells", "midle"]), &["'midle'", "tip: a similar value exists: 'middle'"]),
        (vec!["theory", "markvo", "tail.toml"], &["'markvo'", "tip: a similar value exists: 'markov'"]),
    ] {
        let ended = place.run(&words);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{words:?}: {ended:?}");
        let json = place.run(&[&words[..], &["--json"]].concat());
        assert_eq!((json.code, json.stderr.as_str()), (Some(2), ""), "{words:?}: {json:?}");
        let message = json.json()["error"]["message"].as_str().unwrap().to_string();
        for part in says {
            assert!(message.contains(part) && ended.stderr.contains(part), "{words:?}: '{part}' in {message}");
        }
    }
}
