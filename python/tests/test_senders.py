"""Custom congestion controls written in Python."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy
import pytest

import forebay
from conftest import CASE_1
from forebay.testing import check_control

FIVE = {"flows.ftp.count": 5, "duration": "20s", "warmup": "5s"}


class Aimd(forebay.CongestionControl):
    """Reno without its details."""

    name = "aimd"
    slow_start: bool

    def start(self) -> None:
        self.slow_start = True

    def on_ack(self, ack: Any) -> None:
        if not ack.in_recovery and not ack.application_limited:
            self.cwnd += ack.delivered if self.slow_start else ack.delivered / self.cwnd

    def on_loss(self, now_s: float) -> None:
        self.slow_start = False
        self.cwnd = max(self.cwnd / 2, 2.0)


class Paced(forebay.CongestionControl):
    """Sends 100 packets per second."""

    name = "paced"

    def start(self) -> None:
        self.cwnd, self.pacing_rate = 50.0, 100.0


class Gentle(Aimd):
    """An L4S sender: reduces the window by half the share of marked packets."""

    name, scalable = "gentle", True

    def on_mark(self, now_s: float) -> None:
        self.slow_start = False

    def on_ack(self, ack: Any) -> None:
        super().on_ack(ack)
        self.cwnd = max(self.cwnd - ack.marked / 2, 2.0)


def run(tcp: str, more: dict[str, Any] | None = None, aqm: str = "red", **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = forebay.run(CASE_1, aqm=[aqm], set={**FIVE, "flows.ftp.tcp": tcp, **(more or {})}, **options).runs[0]
    return found


@pytest.mark.parametrize("control", [Aimd, Paced, Gentle])
def test_classes_pass_the_conformance_suite(control: type[forebay.CongestionControl]) -> None:
    check_control(control)


def test_aimd_behaves_like_the_built_in_sender() -> None:
    own, sack = run("own:aimd"), run("sack")
    # 1 / 6 of the queue: the two differ in what they do within a recovery.
    assert own["utilisation"] == pytest.approx(sack["utilisation"], abs=0.02)
    assert own["queue_pkts"]["mean"] == pytest.approx(sack["queue_pkts"]["mean"], rel=1 / 6)


def test_pacing_rate_sets_the_throughput() -> None:
    # 5 flows of 100 packets/s of 500 bytes are 2 Mbit/s of 10.
    assert run("own:paced")["utilisation"] == pytest.approx(0.2, abs=0.001)


def test_scalable_class_keeps_the_l4s_queue_short() -> None:
    own = run("own:gentle", {"flows.ftp.ecn": True}, aqm="dualpi2")
    assert own["mark_ratio"] > 0.01 and own["sojourn_ms"]["mean"] < 2.0, own["sojourn_ms"]
    assert run("own:gentle", {"flows.ftp.ecn": True}, aqm="dualpi2")["fingerprint"] == own["fingerprint"]


def test_reports_agree_with_each_other() -> None:
    seen: list[Any] = []

    class Watcher(Aimd):
        name = "watcher"

        def on_ack(self, ack: Any) -> None:
            super().on_ack(ack)
            seen.append((self, ack))

    one = forebay.run(CASE_1, aqm=["red"], jobs=1, set={**FIVE, "warmup": "0s", "flows.ftp.tcp": "own:watcher", "flows.ftp.count": 1}).runs[0]
    acks = [ack for _, ack in seen]
    assert all(control is seen[0][0] for control, _ in seen), "one object per connection"
    times = [ack.now_s for ack in acks]
    assert times == sorted(times) and times[-1] <= 20.0
    arrived = sum(ack.delivered for ack in acks)
    assert 0 <= one["delivered_pkts"] - arrived < 200, "all but those in flight"
    rtts = [ack.rtt_s for ack in acks if ack.rtt_s is not None]
    assert min(rtts) == acks[-1].min_rtt_s and min(rtts) > 0.06, "60 ms of propagation"
    assert all(ack.rate is None or 0 < ack.rate < 3000 for ack in acks), "2,500 packets/s are the link's rate"


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1.0, 0.0, 0.5, None, "many"])
def test_wrong_window_ends_the_run_with_its_cause(wrong: Any) -> None:
    class Wrong(forebay.CongestionControl):
        name = "wrong"

        def on_ack(self, ack: Any) -> None:
            self.cwnd = wrong

    with pytest.raises(forebay.ScenarioError, match="own:wrong.cwnd: found .*, expected a finite number of packets, at least 1"):
        run("own:wrong")
    with pytest.raises(forebay.ScenarioError, match="own:wrong.cwnd"):
        check_control(Wrong)


@pytest.mark.parametrize("wrong", [float("nan"), -1.0, 0.0, 1e-9, "fast"])
def test_rate_that_never_sends_is_refused(wrong: Any) -> None:
    class Idle(forebay.CongestionControl):
        name = "idle"

        def start(self) -> None:
            self.pacing_rate = wrong

    with pytest.raises(forebay.ScenarioError, match=r"own:idle.pacing_rate: .* at least 0\.01"):
        run("own:idle")


def test_exception_reaches_the_caller_and_keeps_runs(tmp_path: Path) -> None:
    class Raises(Aimd):
        name = "raises"

        def on_loss(self, now_s: float) -> None:
            raise KeyError("at the first loss")

    vary = {"flows.ftp.tcp": ["own:aimd", "own:raises"]}
    with pytest.raises(KeyError, match="at the first loss"):
        forebay.run(CASE_1, aqm=["red"], set=FIVE, vary=vary, jobs=1, output=tmp_path)
    assert len(forebay.load(tmp_path).runs) == 1


def test_results_of_older_code_are_not_reused(tmp_path: Path) -> None:
    def define(window: float) -> None:
        class Fixed(forebay.CongestionControl):
            name = "fixed"

            def start(self) -> None:
                self.cwnd = window

    define(10.0)
    run("own:fixed", output=tmp_path / "a")
    scenario = (tmp_path / "a" / "scenario.toml").read_text()
    assert 'tcp = "own:fixed#' in scenario
    define(20.0)
    with pytest.raises(forebay.ScenarioError, match="the code of own:fixed has changed since"):
        forebay.run(tmp_path / "a" / "scenario.toml")
    with pytest.raises(forebay.StoreError):
        run("own:fixed", output=tmp_path / "a")


def test_conformance_suite_checks_the_given_class() -> None:
    class Unnamed(Aimd):
        def on_ack(self, ack: Any) -> None:
            self.cwnd = float("nan")

    with pytest.raises(ValueError, match="Unnamed has no name of its own"):
        check_control(Unnamed)

    def broken() -> type[forebay.CongestionControl]:
        class Redefined(Aimd):
            name = "redefined"

            def on_ack(self, ack: Any) -> None:
                self.cwnd = float("nan")

        return Redefined

    old = broken()

    class Redefined(Aimd):
        name = "redefined"

    check_control(Redefined, paths=2)
    with pytest.raises(forebay.ScenarioError, match=r"own:redefined\.cwnd"):
        check_control(old)


def test_changed_values_change_the_code() -> None:
    def code(gains: Any, more: Any = None) -> str:
        def helper() -> Any:
            return more

        class Uses(Aimd):
            table = gains

            def on_loss(self, now_s: float) -> None:
                self.cwnd = max(helper() or 2.0, 2.0)

        return Uses._code

    values: list[Any] = [[1.0], [2.0], {"a": 1}, {"a": 2}, {"slow"}, numpy.ones(2), numpy.zeros(2), (1, [2]), (1, [3])]
    codes = [code(value) for value in values] + [code([1.0], 3.0), code([1.0], 4.0)]
    assert len(set(codes)) == len(codes)
    assert codes[0] == code([1.0]) and codes[4] == code({"slow"})


def test_workers_of_a_sweep_use_the_current_class(tmp_path: Path) -> None:
    def define(window: float) -> type[forebay.CongestionControl]:
        class Swept(forebay.CongestionControl):
            name = "swept"

            def start(self) -> None:
                self.cwnd = window

        return Swept

    found = []
    with ThreadPoolExecutor(2) as threads:
        for window in (10.0, 20.0):
            define(window)
            settings = {"duration": "10s", "warmup": "0s", "flows.ftp.tcp": "own:swept"}
            options: dict[str, Any] = {"aqm": ["red"], "set": settings, "vary": {"flows.ftp.count": [1, 2]}}
            swept = forebay.sweep(CASE_1, **options, executor=threads, output=tmp_path / f"{window:g}")
            here = forebay.run(CASE_1, **options)
            found.append([run["fingerprint"] for run in swept.runs])
            assert found[-1] == [run["fingerprint"] for run in here.runs]
    assert found[0] != found[1]


def test_pacing_of_the_scenario_is_honoured() -> None:
    more = {"flows.ftp.pacing": True}
    assert run("own:aimd", more)["fingerprint"] != run("own:aimd")["fingerprint"]
    assert run("own:paced", more)["fingerprint"] == run("own:paced")["fingerprint"], "its own rate decides"


def test_class_is_explained_by_its_name() -> None:
    assert forebay.explain("own:aimd")["summary"] == "Reno without its details."


def test_wrong_classes_are_refused() -> None:
    for name in ("two words", "agent"):
        with pytest.raises(ValueError, match="name must consist .* and not be agent"):
            type("Bad", (forebay.CongestionControl,), {"name": name})
    with pytest.raises(forebay.ScenarioError, match="on-request, always or never"):
        type("Bad", (forebay.CongestionControl,), {"name": "bad", "ecn": "maybe"})
    with pytest.raises(forebay.ScenarioError, match="on-request or always"):
        type("Bad", (forebay.CongestionControl,), {"name": "bad", "ecn": "never", "scalable": True})
    with pytest.raises(forebay.ScenarioError, match="rfc or linux"):
        type("Bad", (forebay.CongestionControl,), {"name": "bad", "stack": "bsd"})
    with pytest.raises(forebay.ScenarioError, match="did you mean own:aimd"):
        run("own:aimdd")


def test_linux_stack_runs_the_same_class() -> None:
    linux = run("own:aimd", {"flows.ftp.stack": "linux"})
    assert linux["utilisation"] > 0.85


class Counter(Aimd):
    """Counts timeouts."""

    name: ClassVar[str] = "counter"
    timeouts: ClassVar[list[float]] = []

    def on_timeout(self, now_s: float) -> None:
        self.timeouts.append(now_s)
        super().on_timeout(now_s)


def test_loss_on_the_wire_causes_timeouts_too() -> None:
    Counter.timeouts.clear()
    run("own:counter", {"topology.bottleneck.loss": 0.3})
    assert len(Counter.timeouts) > 0 and sorted(Counter.timeouts)[-1] <= 20.0
    assert copy.deepcopy(Counter()).name == "counter"
