"""Disciplines as objects: built-in ones called directly, and custom ones written in Python."""

from __future__ import annotations

import math
import traceback
from typing import Any, ClassVar, Literal

import pytest

import forebay
from conftest import CASE_1
from forebay.testing import check_aqm


def test_every_discipline_can_be_called_directly() -> None:
    for name in forebay.disciplines():
        queue = forebay.Discipline(name, rate="10mbit", queue="20p", packet=500)
        told = [queue.enqueue(0.0001 * i, 500, flow=i % 3) for i in range(60)]
        assert set(told) <= {"accepted", "dropped"}, name
        sent = 0
        while queue.dequeue(0.01 + 0.0004 * sent) is not None:
            sent += 1
        counts = queue.counts
        assert counts["offered"] == 60 and counts["departed"] == sent, name
        assert counts["dropped_early"] + counts["dropped_overflow"] == 60 - sent, name
        assert all(math.isfinite(value) or math.isnan(value) for value in queue.probes.values()), name


def test_law_judges_arrivals_of_an_external_queue() -> None:
    # The first period of RAQM by hand: no arrivals, so r = 0 and p = p_0 exp(2 (0 - 1)).
    raqm = forebay.Discipline("raqm q0=50 p_min=0", rate="10mbit", packet=500)
    assert raqm["q0"] == "50p" and raqm.probes["p"] == pytest.approx(2e-4)
    assert raqm.arrival(1.0, 500, backlog=0) == "accepted"
    assert raqm.probes["p"] == pytest.approx(2e-4 * math.exp(-2.0))
    # With p q/q0 = 1 every packet is signalled; a full buffer overrides that.
    sure = forebay.Discipline("raqm q0=50 p_init=1", queue="100p", packet=500)
    assert [sure.arrival(0.1, 500, backlog=q, ecn=True) for q in (50, 99, 100)] == ["marked", "marked", "dropped"]
    assert sure.arrival(0.1, 500, backlog=50) == "dropped"
    counts = sure.counts
    assert (counts["marked"], counts["dropped_early"], counts["dropped_overflow"]) == (2, 1, 1)
    # A binomial number: 3.5 standard deviations are allowed.
    some = forebay.Discipline("raqm q0=50 p_init=0.2 period=1000s", packet=500)
    dropped = sum(some.arrival(0.5, 500, backlog=25) == "dropped" for _ in range(10_000))
    assert abs(dropped - 1000) < 3.5 * math.sqrt(900)
    with pytest.raises(TypeError, match="enqueue"):
        forebay.Discipline("fq_codel").arrival(0.0, 500, backlog=3)
    with pytest.raises(TypeError, match="for each"):
        some.enqueue(1.0, 500)
    with pytest.raises(forebay.ScenarioError, match=r"0\.5 s or later"):
        some.arrival(0.4, 500, backlog=1)
    with pytest.raises(forebay.ScenarioError, match="1 to 65535"):
        some.arrival(0.6, 0, backlog=1)
    with pytest.raises(forebay.ScenarioError, match="write 5mbit or 5bit"):
        forebay.Discipline("pi", rate="5")


def test_packet_has_the_requested_codepoint() -> None:
    cases: list[tuple[bool | Literal["ect0", "ect1"], str, int]] = [
        (False, "not-ect", 0),
        (True, "ect0", 0),
        ("ect0", "ect0", 0),
        ("ect1", "ect1", 1000),
    ]
    for ecn, said, in_l in cases:
        queue = forebay.Discipline("dualpi2", packet=1000)
        assert queue.enqueue(0.0, 1000, ecn=ecn) == "accepted"
        packet = queue.dequeue(0.0)
        assert packet is not None and (packet.ecn, packet.ecn_capable) == (said, said != "not-ect")
        assert queue.probes["sent_l"] == in_l
    with pytest.raises(forebay.ScenarioError, match=r'True, False, "ect0" or "ect1"'):
        forebay.Discipline("pi").enqueue(0.0, 1000, ecn="ect2")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        forebay.Discipline("pi").enqueue(0.0, 1000, ecn=1)  # type: ignore[arg-type]


def test_parameters_of_a_running_discipline_can_change() -> None:
    pi = forebay.Discipline("pi q_ref=50 ecn=off", packet=500)
    for i in range(200):
        pi.arrival(0.01 * i, 500, backlog=80)
    before = pi.probes["p"]
    assert before > 0
    pi.set(q_ref=70, a=2e-5)
    assert (pi["q_ref"], pi.probes["p"]) == ("70p", before), "its state stays"
    for queue in [forebay.Discipline(name) for name in forebay.disciplines()]:
        queue.enqueue(0.0, 500)
        key, value = queue.canonical.split()[1].split("=")
        queue.set(**{key: value})
        assert queue.dequeue(0.001) is not None, "and its packets"
    with pytest.raises(ValueError, match="flows cannot change"):
        forebay.Discipline("fq_codel").set(flows=16)
    with pytest.raises(forebay.ScenarioError, match="did you mean q_ref"):
        pi.set(q_reff=3)


class SamePi(forebay.Law):
    """PI by Hollot et al."""

    name = "same_pi"
    period: Any = 1 / 170
    probes: ClassVar = ("p",)
    a: float = 1.822e-5
    b: float = 1.816e-5
    q_ref: float = 50.0
    updates: ClassVar[int] = 0

    def start(self, rate_bps: float, limit_packets: float, mean_packet: int) -> None:
        self.p, self.before = 0.0, -self.q_ref

    def update(self, sample: Any) -> float:
        SamePi.updates += 1
        error = sample.backlog_packets - self.q_ref
        self.p = min(max(self.p + self.a * error - self.b * self.before, 0.0), 1.0)
        self.before = error
        return self.p


def fingerprints(results: forebay.Results) -> list[str]:
    return [run["fingerprint"] for run in results.runs]


def test_python_pi_equals_built_in_pi(short: forebay.Scenario) -> None:
    pi = "pi a=1.822e-5 b=1.816e-5 w=170 q_ref=50"
    SamePi.updates = 0
    scenario = forebay.read(short, set={"duration": "20s"})
    mine, built_in = forebay.run(scenario, aqm=SamePi), forebay.run(scenario, aqm=pi)
    assert fingerprints(mine) == fingerprints(built_in), "packet for packet"
    run = mine.runs[0]
    assert SamePi.updates == 20 * 10**9 // round(10**9 / 170), "asked once a period, not for each of the packets"
    assert run["packets"] > 10 * SamePi.updates
    series = forebay.run(forebay.read(scenario, set={"report.series": ["same_pi.p"]}), aqm=SamePi).series
    assert 0 < series["same_pi.p"].max() < 1
    other = forebay.run(scenario, aqm="same_pi q_ref=20 ecn=off")
    assert fingerprints(other) != fingerprints(mine)
    # Together with the built-in ones, on all cores.
    assert len(forebay.run(scenario, aqm=[SamePi, pi, "droptail"], seeds=3)) == 9


class Blind(forebay.Aqm):
    """Accepts everything."""

    name = "blind"

    def arrival(self, packet: Any, level: Any, cx: Any) -> None:
        cx.uniform()


class SameBlue(forebay.Aqm):
    """BLUE that reacts only to overflows."""

    name = "same_blue"
    probes: ClassVar = ("p",)
    d1: float = 0.02
    d2: float = 0.002
    freeze_s: float = 0.1

    def start(self, rate_bps: float, limit_packets: float, mean_packet: int) -> None:
        self.p, self.last = 0.0, 0.0

    def arrival(self, packet: Any, level: Any, cx: Any) -> bool:
        return bool(cx.uniform() < self.p)

    def settled(self, packet: Any, fate: str, cx: Any) -> None:
        if fate == "dropped-overflow":
            self.change(self.d1, cx.now_s)

    def emptied(self, cx: Any) -> None:
        self.change(-self.d2, cx.now_s)

    def change(self, by: float, now_s: float) -> None:
        if now_s - self.last > self.freeze_s:
            self.p, self.last = min(max(self.p + by, 0.0), 1.0), now_s


def test_aqms_in_python_run_and_conform(short: forebay.Scenario) -> None:
    assert fingerprints(forebay.run(short, aqm="blind")) == fingerprints(forebay.run(short, aqm="droptail"))
    run = forebay.run(short, aqm=SameBlue, set={"duration": "20s", "flows.ftp.count": 40}).runs[0]
    assert run["dropped"]["early"] > 0
    check_aqm(SameBlue)
    check_aqm("same_pi q_ref=20")


class Clock(forebay.Aqm):
    """Signals for the first half of every second."""

    name = "clock"
    next_tick_s = 0.5
    signals = True

    def tick(self, level: Any, cx: Any) -> None:
        self.signals = not self.signals
        assert self.next_tick_s is not None
        self.next_tick_s = self.next_tick_s + 0.5

    def departure(self, packet: Any, level: Any, cx: Any) -> str:
        return "signal" if self.signals else "accept"


def test_python_aqm_changes_state_at_timer_ticks() -> None:
    queue = forebay.Discipline("clock", packet=500)
    told = []
    for i in range(4):
        now = 0.5 * i + 0.1
        queue.enqueue(now, 500)
        told.append(queue.dequeue(now) is not None)
    assert told == [False, True, False, True]


class Breaks(forebay.Law):
    """Raises after a second."""

    name = "breaks"
    period: Any = "10ms"
    after_s: float = 1.0

    def update(self, sample: Any) -> float:
        if sample.now_s > self.after_s:
            raise ZeroDivisionError("mine")
        return 0.0


def test_exception_ends_the_run_with_its_traceback(short: forebay.Scenario) -> None:
    for jobs in (1, 2):
        with pytest.raises(ZeroDivisionError, match="mine") as raised:
            forebay.run(short, aqm=["droptail", "breaks"], seeds=4, jobs=jobs)
        assert "raise ZeroDivisionError" in "".join(traceback.format_exception(raised.value))
    assert len(forebay.run(short, aqm="breaks after_s=100")) == 1, "the next run is not harmed"
    queue = forebay.Discipline("breaks")
    queue.enqueue(0.5, 500)
    with pytest.raises(ZeroDivisionError):
        queue.enqueue(1.5, 500)


def test_errors_in_discipline_classes_name_the_cause(short: forebay.Scenario) -> None:
    class Odd(forebay.Law):
        name = "odd"
        gain: float = 1.0

        def update(self, sample: Any) -> Any:
            return "much"

    with pytest.raises(forebay.ScenarioError, match="did you mean gain"):
        forebay.run(short, aqm="odd gian=2")
    with pytest.raises(forebay.ScenarioError, match="a number"):
        forebay.run(short, aqm="odd gain=much")
    with pytest.raises(forebay.ScenarioError, match="a probability"):
        forebay.run(short, aqm="odd gain=2")
    with pytest.raises(forebay.ScenarioError, match="built-in discipline"):
        type("Red", (forebay.Aqm,), {"name": "red"})
    with pytest.raises(forebay.ScenarioError, match="20ms"):
        type("Never", (forebay.Law,), {"name": "never", "period": 0})
        forebay.run(short, aqm="never")


NO_NUMBERS = [math.inf, -math.inf, math.nan]


@pytest.mark.parametrize(
    "said",
    [
        *NO_NUMBERS,
        *(forebay.Actuation(p) for p in NO_NUMBERS),
        *(forebay.Actuation(0.1, q0_packets=q0) for q0 in (*NO_NUMBERS, 0.0, -1.0)),
        *(forebay.Actuation(0.1, mean_packet=mean) for mean in (*NO_NUMBERS, 0.0, -1.0)),
        None,
        "0.1",
        10**400,
    ],
    ids=lambda said: str(said)[:60],
)
@pytest.mark.parametrize("when", ["initial", "update"])
def test_law_with_non_finite_p_is_refused(short: forebay.Scenario, said: Any, when: str) -> None:
    class Wild(forebay.Law):
        name = "wild"

        def initial(self) -> Any:
            return said if when == "initial" else 0.0

        def update(self, sample: Any) -> Any:
            return said if when == "update" else 0.0

    with pytest.raises(forebay.ScenarioError, match=f"{when}: .*finite numbers"):
        forebay.run(short, aqm=Wild)
    with pytest.raises(forebay.ScenarioError, match=when):
        forebay.Discipline("wild").enqueue(1.0, 500)


def test_probability_outside_0_to_1_is_clamped(short: forebay.Scenario) -> None:
    def run(p: Any) -> list[str]:
        class Bound(forebay.Law):
            name = "bound"

            def update(self, sample: Any) -> Any:
                return p

        return fingerprints(forebay.run(short, aqm=Bound))

    assert run(1.5) == run(1) == run(forebay.Actuation(7.0)) and run(-1.0) == run(0.0) != run(1)


def test_check_aqm_finds_an_irreproducible_discipline() -> None:
    class Lucky(forebay.Aqm):
        name = "lucky"
        drawn: ClassVar[int] = 0

        def arrival(self, packet: Any, level: Any, cx: Any) -> bool:
            Lucky.drawn += 1
            return Lucky.drawn % 7 == 0

    with pytest.raises(AssertionError, match="two runs from the same seed differ"):
        check_aqm(Lucky)


def test_scenario_of_raqm_paper_can_be_read() -> None:
    assert forebay.read(CASE_1).title == "RAQM case 1"


def test_cake_classifies_by_dscp_and_shares_among_hosts() -> None:
    queue = forebay.Discipline("cake hash=exact")
    queue.enqueue(0.0, 200, flow=1, dscp=46)
    queue.enqueue(0.0, 300, flow=2)
    assert (queue.probes["backlog_2"], queue.probes["backlog_0"]) == (200, 300), "voice, best effort"

    def sent_of_last_flow(second: int) -> int:
        """Packets of flow 8 among 90 sent; its source is `second`, that of eight other flows is 1."""
        queue = forebay.Discipline("cake hash=exact flows=dual-srchost", queue="1000p")
        for _ in range(40):
            for flow in range(9):
                queue.enqueue(0.0, 1000, flow=flow, hosts=(second if flow == 8 else 1, 9))
        sent = [queue.dequeue(0.0) for _ in range(90)]
        return sum(packet is not None and packet.flow == 8 for packet in sent)

    assert sent_of_last_flow(1) == pytest.approx(10, abs=3), "a ninth"
    assert sent_of_last_flow(2) >= 35, "nearly half of it: first turns are sparse"
    for wrong in ({"dscp": 64}, {"dscp": 256}, {"hosts": (1, 70_000)}):
        with pytest.raises((ValueError, OverflowError)):
            queue.enqueue(0.0, 500, **wrong)  # type: ignore[arg-type]
