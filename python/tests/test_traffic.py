"""Classes of traffic: the first table, and the tables of classes and completions."""

from pathlib import Path
from types import SimpleNamespace

import pytest

import forebay

HOME = Path(__file__).parents[2] / "examples" / "home.toml"


@pytest.fixture(scope="module")
def results() -> forebay.Results:
    return forebay.run(HOME, aqm=["droptail", "fq_codel"], seeds=2, set={"duration": "20s"})


def test_print_begins_with_delay_and_completion_times(results: forebay.Results) -> None:
    text = str(results)
    assert text.startswith("fq_codel has the lowest p99 queueing delay for call: ")
    lines = text.split("\n\n", 1)[1].splitlines()
    assert all(head in lines[0] for head in ("goodput", "wait p50", "wait p99", "RTT p99", "done p95", "Jain"))
    starts = [line.split()[0] for line in lines[2:10:2]]
    assert starts == ["download", "web", "call", "all"]


def test_notebook_shows_the_same_text(results: forebay.Results) -> None:
    shown = results._repr_html_()
    assert shown.startswith("<pre>") and "wait p99" in shown and "±" in shown
    plain: list[str] = []
    results._repr_pretty_(SimpleNamespace(text=plain.append), False)
    assert plain == [str(results)]


def test_call_waits_less_under_fq_codel(results: forebay.Results) -> None:
    traffic = results.traffic
    call = traffic["traffic"] == "call"
    waits = {aqm: traffic["wait_ms_p99"][call & (traffic["aqm"] == aqm)].max() for aqm in ("droptail", "fq_codel")}
    assert waits["droptail"] > 100 and waits["fq_codel"] < 5


def test_completions_have_the_pages_of_web_users(results: forebay.Results) -> None:
    completions = results.completions
    assert set(completions["group"]) == {"web"}
    one = (completions["label"] == "droptail") & (completions["seed"] == 1)
    classes = [run for run in results.runs if run["label"] == "droptail" and run["seed"] == 1][0]["traffic"]
    assert one.sum() == classes[-1]["fct_n"]
    assert (completions["fct_s"] > 0).all()


def test_loaded_results_equal_those_of_the_run(tmp_path: Path) -> None:
    kept = forebay.run(HOME, aqm=["droptail", "codel"], seeds=2, set={"duration": "12s"}, output=tmp_path / "out")
    loaded = forebay.load(tmp_path / "out")
    assert (str(loaded), loaded.to_dict()) == (str(kept), kept.to_dict())
    assert (loaded.completions["fct_s"] == kept.completions["fct_s"]).all()
    with pytest.raises(forebay.StoreError):
        forebay.load(tmp_path)


def test_compare_has_paired_differences_of_each_class(results: forebay.Results) -> None:
    droptail, fq_codel = results.compare["cases"][0]["contenders"]
    assert set(fq_codel["classes"]) == {"download", "web", "call", "all"}
    assert fq_codel["classes"]["web"]["difference"]["fct_s.p50"]["mean"] < 0
    assert "difference" not in droptail["classes"]["web"]
