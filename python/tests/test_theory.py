"""The models: results of the program as dictionaries and arrays."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy
import pytest

import forebay
from conftest import REPOSITORY
from forebay import theory

DESIGN = REPOSITORY / "examples" / "pi-design.toml"
PI = "pi a=1.822e-5 b=1.816e-5 w=170 q_ref=200"


def test_stability_depends_on_the_flow_count() -> None:
    [found] = theory.stability(DESIGN, aqm=PI, critical=True)
    assert found["stable"] and found["rtt_ms"] == pytest.approx(246, abs=1.5)
    assert 0 < found["critical_flows"] < 60
    few = theory.stability(DESIGN, aqm=PI, set={"flows.ftp.count": 4})[0]
    assert not few["stable"]
    rows = theory.stability(DESIGN, aqm=PI, vary={"flows.ftp.count": [4, 60]})
    assert [row["stable"] for row in rows] == [False, True]
    with pytest.raises(forebay.ScenarioError):
        theory.stability(DESIGN, aqm="pi q_ref=nought")


def test_stability_map_consists_of_arrays() -> None:
    found = theory.stability_map(DESIGN, "flows=5..250", "rtt=40ms..1s", aqm=PI, cells=12)
    assert found["x"].shape == (12,) and found["stable"].shape == (12, 12)
    assert found["x"][0] == pytest.approx(5) and found["y"][-1] == pytest.approx(1)
    assert {0.0, 1.0} <= set(found["stable"][~numpy.isnan(found["stable"])])


def test_fluid_markov_and_mmpp_give_results() -> None:
    [trajectory] = theory.fluid(DESIGN, aqm=PI)
    assert len(trajectory["t_s"]) == len(trajectory["q_pkts"]) == len(trajectory["p"]) > 100
    [chain] = theory.markov(DESIGN, aqm=PI, step="0.5rtt", sigma="77kbit")
    assert math.fsum(chain["distribution"]["share"]) == pytest.approx(1.0)
    [queue] = theory.mmpp(REPOSITORY / "examples" / "aaqm-model.toml")
    assert queue["arrival_states"] == 16


class Held(forebay.Law):
    """PI by Hollot et al."""

    name, probes = "held", ("p",)
    a: float = 1.822e-5
    b: float = 1.816e-5
    q_ref: int = 200
    period = 1 / 170

    def start(self, rate_bps: float, limit_packets: float, mean_packet: int) -> None:
        self.p, self.before = 0.0, 0.0

    def update(self, sample: forebay.Sample) -> float:
        queue = float(sample.backlog_packets)
        self.p = min(max(self.p + self.a * (queue - self.q_ref) - self.b * (self.before - self.q_ref), 0.0), 1.0)
        self.before = queue
        return self.p


def test_custom_classes_have_margins_trajectories_and_explanation() -> None:
    [own], [built_in] = theory.stability(DESIGN, aqm=Held), theory.stability(DESIGN, aqm=PI)
    for number in ("delay_margin_ms", "crossover_rad_per_s", "p_rest", "q_rest_pkts"):
        assert own[number] == pytest.approx(built_in[number], rel=1e-6), number
    assert theory.fluid(DESIGN, aqm=Held)[0]["q_pkts"] == pytest.approx(theory.fluid(DESIGN, aqm=PI)[0]["q_pkts"])
    told = forebay.explain("held")
    assert told["summary"] == "PI by Hollot et al." and told["implements"] == "law"
    named = {one["name"]: (one["default"], one["accepts"]) for one in told["parameters"]}
    assert named["q_ref"] == ("200", "a whole number") and named["a"] == ("1.822e-05", "a number")
    assert [probe["name"] for probe in told["probes"]] == ["held.p"]


def test_exception_in_a_law_ends_the_model() -> None:
    class Falls(forebay.Law):
        name, period = "falls", "10ms"

        def update(self, sample: forebay.Sample) -> float:
            raise RuntimeError("no rest for this one")

    begun = time.monotonic()
    with pytest.raises(RuntimeError, match="no rest for this one"):
        theory.stability(DESIGN, aqm=Falls, vary={"flows.ftp.count": [10, 20, 30, 40]})
    assert time.monotonic() - begun < 5, "the first exception ends the calls"


def test_files_of_a_changed_scenario_are_found(tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("time_s,bytes\n0,500\n0.5,500\n")
    text = DESIGN.read_text() + '\n[[flows]]\nname = "replayed"\nkind = "trace"\nfile = "times.csv"\n'
    (tmp_path / "near.toml").write_text(text)
    with pytest.raises(forebay.ScenarioError) as plain:
        theory.stability(tmp_path / "near.toml", aqm=PI, set={"flows.replayed.file": "missing.csv"})
    assert "no such file" in str(plain.value) and "missing.csv" in str(plain.value)
    changed = forebay.read(tmp_path / "near.toml", set={"flows.ftp.count": 40}, aqm=PI)
    quick = forebay.read(tmp_path / "near.toml", set={"duration": "20s", "warmup": "5s"})
    # The text that was read is used, not the changed file; files in its folder are still found.
    (tmp_path / "near.toml").write_text("no scenario")
    assert theory.stability(changed)[0]["aqm"].startswith("pi ")
    found = theory.tune(quick, aqm="pi q_ref=200", aims=["delay-margin>=50ms"], output=str(tmp_path / "out"), seeds=1)
    assert found["aqm"].startswith("pi ")


def test_built_scenario_is_accepted_too(short: forebay.Scenario) -> None:
    [found] = theory.stability(short, aqm="raqm_plus q0=50")
    assert found["q_rest_pkts"] == pytest.approx(50, abs=1)


def test_tune_finds_parameters_and_refuses_long_runs(tmp_path: Path) -> None:
    found = theory.tune(
        DESIGN, aqm="pi q_ref=200", aims=["delay-margin>=50ms"], output=str(tmp_path / "out"), seeds=1,
        set={"duration": "20s", "warmup": "5s"},
    )
    assert found["aqm"].startswith("pi ")
    with pytest.raises(forebay.ScenarioError, match="(hours|GiB).*force=True"):
        theory.tune(
            DESIGN, aqm="pi q_ref=200", aims=["delay-margin>=50ms"], output=str(tmp_path / "long"), seeds=90_000,
            # Over a faster link a flow could exceed the range of sequence numbers.
            set={"duration": "70000s", "topology.access.rate": "16mbit"},
        )
    assert not (tmp_path / "long").exists()


def test_explain_reproduce_and_compare_return_results(tmp_path: Path) -> None:
    raqm = forebay.explain("raqm")
    assert {"q0", "alpha"} <= {one["name"] for one in raqm["parameters"]}
    with pytest.raises(forebay.ScenarioError, match="did you mean raqm"):
        forebay.explain("raqn")
    found = forebay.reproduce("RAQM-TH2", level="quick", output=tmp_path / "out")
    on_record = json.loads((REPOSITORY / "papers" / "raqm" / "expected-quick.json").read_text())
    [claim] = found["claims"]
    assert claim["id"] == "RAQM-TH2" and claim["verdict"] == on_record["RAQM-TH2"]
    with pytest.raises(ValueError, match="quick"):
        forebay.reproduce("raqm", level="fast")
    rows = forebay.compare(DESIGN, [PI, "droptail"], seeds=2, set={"duration": "10s", "warmup": "2s"})["cases"][0]
    assert [one["label"] for one in rows["contenders"]] == [PI, "droptail"]
