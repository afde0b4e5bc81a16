"""Edge cases: changed code, other folders, unusual numbers, locks."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest

import forebay
from conftest import CASE_1


def constant(p: float) -> type[forebay.Law]:
    class Mine(forebay.Law):
        name = "edge_constant"
        period: Any = "10ms"

        def update(self, sample: Any) -> float:
            return p

    return Mine


def means(results: forebay.Results) -> list[float]:
    found: list[float] = results.summary["queue_pkts_mean"].tolist()
    return found


def test_results_of_changed_class_code_are_not_reused(
    short: forebay.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    few, many = constant(0.001), constant(0.2)
    assert few._code != many._code and constant(0.2)._code == many._code
    fresh = [means(forebay.run(short, aqm=law)) for law in (few, many)]
    assert fresh[0] != fresh[1], "also where a class of the same name was defined later"
    assert [means(forebay.sweep(short, aqm=law)) for law in (few, many)] == fresh
    assert len(list((tmp_path / "runs").iterdir())) == 2, "two experiments"
    forebay.run(short, aqm=few, output="out")
    with pytest.raises(forebay.StoreError):
        forebay.run(short, aqm=many, output="out")
    with ThreadPoolExecutor(1) as pool:
        for law, want in zip((few, many), fresh):
            assert means(forebay.sweep(short, aqm=law, executor=pool, output=f"pool-{want[0]}")) == want


class Base(forebay.Law):
    name = "edge_base"
    gain: float = 1
    word: str = "a"

    def update(self, sample: Any) -> float:
        return min(0.001 * self.gain, 1.0)


class Heir(Base):
    name = "edge_heir"
    gain = 50.0


def test_discipline_classes_inherit_parameters(short: forebay.Scenario) -> None:
    def words(name: str) -> str:
        return forebay.Discipline(name).canonical.split(" code=")[0]

    assert words("edge_heir") == "edge_heir gain=50.0 word=a" and words("edge_base") == "edge_base gain=1.0 word=a"

    class Silent(Base):
        def update(self, sample: Any) -> float:
            return 1.0

    assert means(forebay.run(short, aqm="edge_base"))[0] > 1, "a class without a name of its own has none"
    assert forebay.Discipline("edge_base gain=2.5")["gain"] == "2.5", "by its annotation, not by its default"
    one = forebay.Discipline("raqm q0=33")
    assert forebay.read(short, aqm=[one]).to_toml().count("q0=33p") > 0
    with pytest.raises(TypeError, match="custom class"):
        forebay.run(short, aqm=[Base()])
    with pytest.raises(ValueError, match="reserved"):
        type("Odd", (forebay.Law,), {"__annotations__": {"ecn": float}, "ecn": 0.5})
    with pytest.raises(TypeError, match="not list"):
        type("Odd", (forebay.Law,), {"__annotations__": {"mine": list}, "mine": []})
    with pytest.raises(ValueError, match="without spaces"):
        type("Odd", (forebay.Law,), {"__annotations__": {"mine": str}, "mine": "a b"})
    with pytest.raises(ValueError, match="letters"):
        type("Odd", (forebay.Law,), {"name": "a b"})


def test_results_are_found_after_changing_directory(
    short: forebay.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = forebay.run(short, output="out", seeds=2)
    monkeypatch.chdir("/")
    assert len(results.series) == 4000 and len(results.queue_cdf()[0]) > 1
    next((tmp_path / "out" / "runs").iterdir()).unlink()
    with pytest.raises(forebay.RunError, match="1 of the runs"):
        results.quantity("utilisation")


def test_files_of_scenario_are_found_after_changing_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sc").mkdir()
    (tmp_path / "sc" / "t.ms").write_text("\n".join(str(ms) for ms in range(1, 1000)))
    text = CASE_1.read_text().replace('rate = "10mbit", delay = "10ms", queue = "100p"', 'rate = "10mbit", delay = "10ms", queue = "100p", rate_trace = "t.ms"', 1)
    assert "t.ms" in text
    (tmp_path / "sc" / "s.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    scenario = forebay.read("sc/s.toml", set={"flows.ftp.count": 2, "duration": "2s", "warmup": "0s"})
    assert scenario.name == "sc/s.toml"
    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(scenario))
    changed = forebay.read(again, set={"duration": "1s"})
    assert means(forebay.run(again, aqm="pi")) == means(forebay.run(scenario, aqm="pi")) and changed.duration_s == 1


@pytest.mark.parametrize("seeds", [0, -1, [], [1, 1], [-1], "12", [1.5], 10**12, [2**60]])
def test_invalid_seeds_are_refused(seeds: Any, short: forebay.Scenario) -> None:
    with pytest.raises((TypeError, ValueError)):
        forebay.run(short, seeds=seeds)


def test_too_large_runs_are_refused_before_writing_files(short: forebay.Scenario, tmp_path: Path) -> None:
    long = forebay.read(short, set={"duration": "70000s"})
    with pytest.raises(forebay.errors.ScenarioError, match="hours.*at most 24 hours.*force=True"):
        forebay.run(long, seeds=1000, jobs=1, output=tmp_path / "run")
    with pytest.raises(forebay.errors.ScenarioError, match="hours"):
        forebay.sweep(long, seeds=1000, output=tmp_path / "sweep", executor=ThreadPoolExecutor(1))
    assert not list(tmp_path.iterdir())
    deep = forebay.read(short, set={"duration": "70000s", "topology.bottleneck.queue": "4000000000p", "topology.bottleneck.rate": "100gbit"})
    with pytest.raises(forebay.errors.ScenarioError, match="GiB of memory|hours"):
        forebay.run(deep, jobs=1)


def test_numpy_numbers_and_arrays_are_accepted(short: forebay.Scenario) -> None:
    assert len(forebay.run(short, seeds=numpy.int64(2))) == 4
    assert len(forebay.run(short, seeds=numpy.array([3, 9]))) == 4
    axes = forebay.read(short, vary={"flows.ftp.count": numpy.arange(2, 4), "topology.bottleneck.loss": numpy.linspace(0, 0.01, 3)})
    assert len(axes.axes) == 6
    assert forebay.read(short, set={"packet": numpy.int32(700)}).to_toml().count("packet = 700") == 1
    for wrong in ({"title": ["a,b", "c"]}, {"flows.ftp.count": "5,6"}, {"flows.ftp.count": 5}, {"flows.ftp.count": []}):
        with pytest.raises((TypeError, ValueError)):
            forebay.read(short, vary=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        forebay.read(short, set={"title": None})
    assert forebay.read(short, set={"title": "queue 😀"}).title == "queue 😀"


def test_unknown_names_raise_errors(short: forebay.Scenario) -> None:
    results = forebay.run(short)
    with pytest.raises(forebay.ScenarioError):
        results.quantity("nope")
    with pytest.raises(KeyError):
        results.over_time(seed=99)
    assert forebay.run(short, aqm="droptail").quantity("mean(queue)@1..2")[0] > 0
    with pytest.raises(forebay.ScenarioError):
        forebay.explain("--help")


def test_qdiscs_of_linux_are_refused(short: forebay.Scenario) -> None:
    with pytest.raises(forebay.ScenarioError, match="--on linux"):
        forebay.run(short, aqm="linux:codel")
    with pytest.raises(forebay.ScenarioError, match="--on linux"):
        forebay.sweep(short, aqm="linux:codel", executor=ThreadPoolExecutor(1))


STUCK = """
import sys, forebay
class Stuck(forebay.Aqm):
    name = "edge_stuck"
    next_tick_s = 0.5
    def tick(self, level, cx):
        pass
try:
    forebay.run(sys.argv[1], aqm="edge_stuck", set={"flows.ftp.count": 2})
except forebay.ScenarioError as error:
    print("refused" if "a time after 0.5 s" in str(error) else error)
"""

LOCKS = """
import sys, threading, forebay
sys.setswitchinterval(1e-6)
class Nested(forebay.Law):
    name = "edge_nested"
    a: float = 1.0
    @classmethod
    def _defaults(cls):
        type("Other", (forebay.Law,), {"name": "edge_other"})
        return super()._defaults()
    def update(self, sample):
        return 0.0
def define():
    for _ in range(300):
        type("Another", (forebay.Law,), {"name": "edge_another"})
thread = threading.Thread(target=define)
thread.start()
for _ in range(300):
    forebay.Discipline("edge_nested a=3")
thread.join()
print("done")
"""

AGAIN = """
import sys, forebay
class Curious(forebay.Law):
    name = "edge_curious"
    def update(self, sample):
        forebay.disciplines()
        return 0.0
try:
    forebay.theory.stability(sys.argv[1], aqm="pi", set={"report.series": ["queue"]})
    forebay.theory.stability(sys.argv[1], aqm="edge_curious")
except RuntimeError as error:
    print("within" if "within" in str(error) else error)
except forebay.ScenarioError as error:
    print("within" if "within" in str(error) else error)
"""

FORK = """
import os, sys, forebay
results = forebay.run(sys.argv[1], aqm="pi", set={"flows.ftp.count": 2, "duration": "2s", "warmup": "0s"}, output=sys.argv[2])
len(results.series)
child = os.fork()
if child == 0:
    len(results.series)
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.parametrize(("code", "says"), [(STUCK, "refused"), (LOCKS, "done"), (AGAIN, "within"), (FORK, "0")])
def test_stuck_timers_locks_nesting_and_forks_end(code: str, says: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", code, str(CASE_1), str(tmp_path / "out")]
    told = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert told.stdout.strip() == says, told.stderr


def test_running_law_can_list_disciplines(short: forebay.Scenario) -> None:
    found = []

    class Asking(forebay.Law):
        name = "edge_asking"

        def update(self, sample: forebay.Sample) -> float:
            found.append((len(forebay.disciplines()), forebay.explain("pi")["name"]))
            return 0.0

    forebay.run(short, aqm=Asking, seeds=1, set={"duration": "2s"})
    ran = len(found)
    driven = forebay.Discipline("edge_asking")
    driven.arrival(1.0, 500, 3)
    assert ran > 0 and len(found) > ran and set(found) == {(32, "pi")}


def test_exception_in_start_reaches_the_caller(short: forebay.Scenario) -> None:
    class Late(forebay.Law):
        name = "edge_late"

        def start(self, rate_bps: float, limit_packets: float, mean_packet: int) -> None:
            raise ZeroDivisionError("at the start")

    with pytest.raises(ZeroDivisionError):
        forebay.run(short, aqm=Late)
    with pytest.raises(ZeroDivisionError):
        forebay.Discipline("edge_late")


def test_environment_checks_arguments_and_ends_episodes(short: forebay.Scenario) -> None:
    gym, gymnasium = pytest.importorskip("forebay.gym"), pytest.importorskip("gymnasium")
    with pytest.raises(ValueError, match="num_envs"):
        gym.AqmVectorEnv(short, 0)
    with pytest.raises(ValueError, match="action"):
        gym.AqmVectorEnv(short, 1, action={})
    hashed = gym.AqmVectorEnv(short, 1, aqm="fq_codel", action={"flows": (1, 64), "target": (0.001, 0.1)})
    hashed.reset(seed=1)
    with pytest.raises(forebay.ScenarioError, match="can change while it runs"):
        hashed.step(numpy.array([[16, 0.005]]))
    one = gymnasium.make(gym.ID, scenario=short, step_s=1.0, disable_env_checker=True).unwrapped
    one.reset(seed=1)
    assert [one.step([0.0])[3] for _ in range(4)] == [False, False, False, True]
    with pytest.raises(gymnasium.error.ResetNeeded):
        one.step([0.0])
    timed = gym.AqmVectorEnv(short, 1, aqm="codel", action={"target": (0.001, 0.1)}, observation=["queue_packets"])
    timed.reset(seed=1)
    timed.step(numpy.array([[0.0155]]))

    def trajectory(seeds: Any) -> Any:
        env = gym.AqmVectorEnv(short, 2, observation=["queue_packets", "utilisation"], step_s=0.3)
        rows = [env.reset(seed=seeds)[0]]
        rows += [env.step(numpy.zeros((2, 1)))[0] for _ in range(40)]
        return numpy.array(rows)

    assert (trajectory([4, 5]) == trajectory([4, 5])).all(), "seeds also determine later episodes"
    assert (trajectory(4) == trajectory([4, 5])).all(), "one number is the seed of the first simulation, the others count up"
    # The last step of an episode is shorter: 4 s are 13 steps and a third.
    assert trajectory(4)[14, :, 1].min() > 0.9, "relative to the shorter step"


def test_copied_scenarios_are_equal(short: forebay.Scenario) -> None:
    assert copy.deepcopy(short).hash == short.hash and os.getcwd() not in repr(short)
