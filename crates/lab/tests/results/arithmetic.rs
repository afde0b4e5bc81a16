//! Relations between the numbers that a paper prints, such as Little's law: the numbers agree with a relation or
//! contradict it. The known contradictions are found.

use forebay_lab::arithmetic::{self, Agreement, Kind, Relation};
use forebay_lab::claim_file;
use forebay_lab::papers::{self, PAPERS};

fn relations(paper: &str) -> Vec<Relation> {
    arithmetic::check(papers::find(paper).unwrap().arithmetic).unwrap_or_else(|fault| panic!("{fault}"))
}

fn relation(paper: &str, id: &str) -> Relation {
    relations(paper).into_iter().find(|relation| relation.id == id).unwrap_or_else(|| panic!("there is no {id}"))
}

/// Both sides contain the numbers, and the outcome is this one.
fn is(paper: &str, id: &str, this: f64, other: f64, agreement: Agreement) {
    let relation = relation(paper, id);
    let contains = |side: &arithmetic::Side, x: f64| side.interval.from <= x && x <= side.interval.to;
    assert!(contains(&relation.this, this), "{id}: {this} is not in {:?}", relation.this);
    assert!(contains(&relation.other, other), "{id}: {other} is not in {:?}", relation.other);
    assert_eq!(relation.agreement, agreement, "{id}");
}

#[test]
fn every_relation_concerns_claims_that_exist() {
    for (paper, prefix) in
        [("msc", "MSC-A"), ("aaqm", "AAQM-A"), ("raqm", "RAQM-A"), ("red-tail", "TAIL-A"), ("msvb", "MSVB-A")]
    {
        let claims = claim_file::parse(papers::find(paper).unwrap().claims).unwrap().claims;
        let relations = relations(paper);
        assert!(relations.len() >= 8, "{paper} has {} relations", relations.len());
        for (at, relation) in relations.iter().enumerate() {
            assert_eq!(relation.id, format!("{prefix}{}", at + 1));
            let lost = relation.claims.iter().find(|id| !claims.iter().any(|claim| claim.id == **id));
            assert_eq!(lost, None, "{} concerns a claim that does not exist", relation.id);
        }
    }
    for paper in PAPERS {
        let named = format!("\npaper   = \"{}\"\n", paper.name);
        assert!(paper.arithmetic.contains(&named), "{} has another name in its arithmetic.toml", paper.name);
    }
}

#[test]
fn contradictions_equal_the_fixed_list() {
    for (paper, fixed) in [
        ("msc", "A6 A7 A10 A11"),
        ("aaqm", "A8 A10 A14 A15"),
        ("raqm", "A5 A6"),
        ("red-tail", "A1 A2 A5 A15 A16 A17 A18 A22 A25 A26 A27 A28 A29 A30 A32 A41 A42"),
        ("msvb", "A1 A7 A8"),
    ] {
        let contradict = relations(paper).into_iter().filter(|r| r.agreement == Agreement::Contradicts);
        let ids: Vec<String> = contradict.filter_map(|r| Some(r.id.split_once('-')?.1.to_string())).collect();
        assert_eq!(ids.join(" "), fixed, "{paper}");
    }
}

/// RED+Tail's queue 2 holds FTP's rate times FTP's delay. With fixed and with dynamic thresholds this is less than the
/// length that the paper prints; both queues together would have it.
#[test]
fn littles_law_contradicts_printed_length_of_queue_2() {
    is("red-tail", "TAIL-A1", 38.5, 60.0, Agreement::Contradicts);
    is("red-tail", "TAIL-A2", 66.6, 80.0, Agreement::Contradicts);
    is("red-tail", "TAIL-A3", 57.2, 60.0, Agreement::Agrees);
    is("red-tail", "TAIL-A4", 81.8, 80.0, Agreement::Agrees);
}

/// RED+Tail's Table I prints transfer times by loss ratio. At the loss of web packets under RED+Tail they are far
/// longer than without loss, though the paper calls them almost the same.
#[test]
fn red_tails_table_i_contradicts_times_without_loss() {
    is("red-tail", "TAIL-A27", 1.34, 0.88, Agreement::Contradicts);
    is("red-tail", "TAIL-A28", 2.21, 1.18, Agreement::Contradicts);
    is("red-tail", "TAIL-A29", 2.73, 1.34, Agreement::Contradicts);
}

/// MSVB's Table 1 compares RIO and SIO under one load. On a full link its two halves imply different rates of arriving
/// OUT packets.
#[test]
fn msvb_table_1_contradicts_itself_about_out_traffic() {
    is("msvb", "MSVB-A7", 23.6, 14.6, Agreement::Contradicts);
    is("msvb", "MSVB-A8", 20.6, 13.1, Agreement::Contradicts);
}

/// The paper calls the longest delays of VQ and ARED very much larger than AAQM's. But AAQM's queue has 95 % of the
/// buffer, and no queue is longer than the buffer.
#[test]
fn aaqms_delay_advantage_contradicts_its_queue_length() {
    is("aaqm", "AAQM-A10", 1.053, 2.0, Agreement::Contradicts);
    let words = |relation: &Relation| relation.numbers.iter().any(|number| number.kind == Kind::Words);
    assert!(words(&relation("aaqm", "AAQM-A10")), "the bound is our reading of words");
}

#[test]
fn deliberately_wrong_number_gives_a_contradiction() {
    for (paper, name, from, to, id) in [
        ("red-tail", "tail_web_delay", "0.114", "0.411", "TAIL-A3"),
        ("red-tail", "p_lost", "0.9267", "0.9276", "TAIL-A35"),
        ("msvb", "target_4", "1.6", "1.7", "MSVB-A12"),
        ("raqm", "limit", "4", "2", "RAQM-A2"),
        ("msc", "packet", "500", "5000", "MSC-A1"),
        ("aaqm", "again_at", "175", "157", "AAQM-A6"),
    ] {
        let right = papers::find(paper).unwrap().arithmetic;
        let printed = |value: &str| format!("\n{name} = {{ value = \"{value}\"");
        assert!(right.contains(&printed(from)), "{paper} does not print {name}");
        assert_eq!(relation(paper, id).agreement, Agreement::Agrees, "{id}");
        let wrong = arithmetic::check(&right.replace(&printed(from), &printed(to))).unwrap();
        let found = wrong.iter().find(|relation| relation.id == id).unwrap();
        assert_eq!(found.agreement, Agreement::Contradicts, "{id} with {to}");
    }
}

#[test]
fn claims_marked_contradicted_have_a_contradicting_relation() {
    for paper in PAPERS {
        let relations = relations(paper.name);
        let claims = claim_file::parse(paper.claims).unwrap().claims;
        for claim in claims.iter().filter(|claim| claim.contradicted.is_some()) {
            let concerns = |relation: &&Relation| relation.claims.contains(&claim.id);
            let mut its = relations.iter().filter(concerns);
            assert!(its.any(|relation| relation.agreement == Agreement::Contradicts), "{}", claim.id);
        }
    }
}
