"""Pickling of results, tables, environments, scenarios, unused disciplines and packets."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy
import pytest

import forebay
from conftest import CASE_1


def same_table(a: Any, b: Any) -> None:
    assert a.column_names == b.column_names and a.num_rows == b.num_rows
    for name in a.column_names:
        numpy.testing.assert_array_equal(a[name], b[name], strict=True)


def same_results(a: forebay.Results, b: forebay.Results) -> None:
    for table in ("summary", "series", "flows"):
        same_table(getattr(a, table), getattr(b, table))
    assert a.to_dict() == b.to_dict() and str(a) == str(b) and repr(a) == repr(b) and len(a) == len(b)
    assert a.runs == b.runs and a.compare == b.compare and a.labels == b.labels and a.directory == b.directory
    for mine, theirs in zip(a.queue_cdf(), b.queue_cdf()):
        numpy.testing.assert_array_equal(mine, theirs)
    numpy.testing.assert_array_equal(a.quantity("mean(queue)@1..3"), b.quantity("mean(queue)@1..3"))


class Mine(forebay.Law):
    name = "pickled_law"
    probes = ("p",)
    p: float = 0.01

    def update(self, sample: Any) -> float:
        return self.p


def rich(short: forebay.Scenario) -> forebay.Scenario:
    """Several cases and classes, probes that only one discipline has, and a law in Python."""
    return forebay.read(
        short,
        aqm=["raqm q0=50", Mine],
        set={"report.series": ["queue", "raqm.p", "pickled_law.p", "class.0.dropped_pkts"]},
        vary={"flows.ftp.count": [2, 5]},
    )


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("kept", [False, True])
def test_results_survive_pickling_and_copying(short: forebay.Scenario, tmp_path: Path, copied: Any, kept: bool) -> None:
    results = forebay.run(rich(short), seeds=2, output=tmp_path / "out" if kept else None)
    same_results(copied(results), results)
    assert len(results.series), "also once its tables have been asked for"
    same_results(copied(results), results)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_pickle_protocol_works(short: forebay.Scenario, protocol: int) -> None:
    results = forebay.run(short)
    same_results(pickle.loads(pickle.dumps(results, protocol)), results)


def found(scenario: forebay.Scenario, seed: int) -> forebay.Results:
    return forebay.run(scenario, seeds=[seed], jobs=1, progress=False)


def test_results_can_return_from_other_processes(short: forebay.Scenario) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        apart = list(pool.map(found, [short] * 2, [1, 2]))
    for seed, results in zip([1, 2], apart):
        here = found(short, seed)
        same_table(results.series, here.series)
        same_table(results.flows, here.flows)
        assert [run["fingerprint"] for run in results.runs] == [run["fingerprint"] for run in here.runs]


def test_results_unpickle_without_their_discipline_classes(short: forebay.Scenario, tmp_path: Path) -> None:
    results = forebay.run(rich(short), output=tmp_path / "out")
    (tmp_path / "pickle").write_bytes(pickle.dumps(results))
    code = "import sys, pickle; r = pickle.load(open(sys.argv[1], 'rb')); print(len(r.series), sorted(set(r.labels)))"
    words = [sys.executable, "-c", code, str(tmp_path / "pickle")]
    told = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert told == f"{len(results.series)} {sorted(set(results.labels))}\n"
    next((tmp_path / "out" / "runs").iterdir()).unlink()
    with pytest.raises(forebay.RunError, match="no longer exist"):
        pickle.loads((tmp_path / "pickle").read_bytes()).series


def test_tables_survive_pickling_and_copying(short: forebay.Scenario, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    results = forebay.run(rich(short))
    for table in (results.summary, results.series, results.flows):
        again = pickle.loads(pickle.dumps(table))
        same_table(again, table)
        assert pyarrow.table(again).equals(pyarrow.table(table)), "nulls, kinds and names too"
        same_table(copy.deepcopy(table), table)
    again.write_parquet(tmp_path / "table.parquet")
    assert isinstance(again, forebay.Table) and numpy.isnan(results.series["raqm.p"]).any()


def damaged(state: Any, chance: random.Random) -> Any:
    """Changes one item: removed, changed, of another type, or out of bounds."""
    if isinstance(state, (tuple, list)) and state and chance.random() < 0.9:
        at = chance.randrange(len(state))
        parts = [damaged(part, chance) if i == at else part for i, part in enumerate(state)]
        return type(state)(parts)
    odd: list[Any] = [None, "", b"", -1, 2**63, 2**70, 1e308, float("nan"), [], (), "x" * 9, b"\xff" * 8, True]
    if isinstance(state, (str, bytes)) and state and chance.random() < 0.8:
        at = chance.randrange(len(state))
        piece = state[at : at + chance.choice([1, 5])]
        return chance.choice([state[:at], state[:at] + piece * 3 + state[at:], state[:at] + state[at + len(piece) :]])
    return chance.choice(odd)


def used(results: Any) -> None:
    for ask in (
        lambda: results.summary,
        lambda: results.series,
        lambda: results.flows,
        results.to_json,
        results.text,
        lambda: results.quantity("mean(queue)@1..3"),
        lambda: results.quantity("queue_pkts.p99"),
        lambda: results.queue_shares(results.labels[0]),
        lambda: pickle.dumps(results),
        lambda: results.summary.to_dict(),
    ):
        try:
            ask()
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, RuntimeError, forebay.ForebayError):
            pass


def test_foreign_pickles_are_refused(short: forebay.Scenario, tmp_path: Path) -> None:
    """The result is usable, or a ValueError or TypeError is raised; a panic is an error."""
    chance = random.Random(5)
    short = forebay.read(short, set={"duration": "1s", "warmup": "0s", "flows.ftp.count": 2})
    for results in (forebay.run(short), forebay.run(short, output=tmp_path / "out")):
        kind, parts = results._native.__reduce__()
        refused = 0
        for _ in range(400):
            try:
                used(kind(*damaged(parts, chance)))
            except (ValueError, TypeError, OverflowError):
                refused += 1
        assert refused > 100
    kind, parts = results.series.__reduce__()
    for _ in range(400):
        try:
            kind(*damaged(parts, chance)).to_dict()
        except (ValueError, TypeError, OverflowError, RuntimeError):
            pass
    whole = pickle.dumps(results)
    for length in range(0, len(whole), len(whole) // 50):
        with pytest.raises(Exception):  # noqa: B017
            pickle.loads(whole[:length])


def test_columns_of_unequal_length_are_refused(short: forebay.Scenario) -> None:
    kind, (title, compare, runs, place) = forebay.run(short)._native.__reduce__()
    uneven = runs[0].replace(b'"queue_pkts":[', b'"queue_pkts":[1.0,', 1)
    assert uneven != runs[0]
    with pytest.raises(ValueError, match="different lengths"):
        kind(title, compare, [uneven], place)


def test_disciplines_pickle_before_their_first_packet() -> None:
    fresh = forebay.Discipline("red", rate="20mbit", queue="60p", packet=700, seed=9)
    again = pickle.loads(pickle.dumps(fresh))
    told = [[queue.enqueue(1e-4 * i, 700) for i in range(500)] for queue in (fresh, again)]
    assert told[0] == told[1] and "dropped" in told[0] and again.canonical == fresh.canonical
    with pytest.raises(TypeError, match=r"pickle its \.canonical"):
        pickle.dumps(fresh)
    tuned = forebay.Discipline("raqm q0=50")
    tuned.set(q0=20)
    with pytest.raises(TypeError, match="in use"):
        copy.deepcopy(tuned)


class Remembers(forebay.Law):
    """Stores its samples."""

    name = "remembers"

    def start(self, rate_bps: float, limit_packets: float, mean_packet: int) -> None:
        self.samples: list[Any] = []

    def update(self, sample: Any) -> float:
        self.samples = [*self.samples[-5:], sample]
        return 0.01


def test_packets_and_stored_samples_survive_copying(short: forebay.Scenario) -> None:
    queue = forebay.Discipline("droptail", packet=500)
    queue.enqueue(0.5, 321, flow=7, ecn=True)
    packet = queue.dequeue(0.75)
    assert packet is not None
    again = pickle.loads(pickle.dumps(packet))
    names = [name for name in dir(packet) if not name.startswith("_")]
    assert {name: getattr(again, name) for name in names} == {name: getattr(packet, name) for name in names}
    assert len(names) == 10 and (again.length, again.flow, again.ecn_capable, again.arrived_s) == (321, 7, True, 0.5)
    # The models copy a law with its state.
    rows = forebay.theory.fluid(short, aqm="remembers")
    assert "no_answer" not in rows[0], rows[0].get("no_answer")


needs_gymnasium = pytest.mark.skipif(find_spec("gymnasium") is None, reason="gymnasium is not installed")
TEN = {"flows.ftp.count": 10, "duration": "2s", "warmup": "0s"}


def environments() -> Iterator[Any]:
    from forebay.gym import AqmVectorEnv

    yield AqmVectorEnv(CASE_1, 3, set=TEN, observation=["queue_packets", "arrival_rate_bps", "p", "time_s"], ecn=True)
    yield AqmVectorEnv(CASE_1, 2, set=TEN, aqm="pi q_ref=50", action={"q_ref": (5, 80), "a": (1e-6, 1e-3)}, step_s=0.03)


def steps(env: Any, count: int, seed: int) -> list[Any]:
    chance = numpy.random.default_rng(seed)
    low, high = env.single_action_space.low, env.single_action_space.high
    rows = []
    for _ in range(count):
        actions = low + (high - low) * chance.random((env.num_envs, len(low))) ** 4
        seen, rewards, _, ended, _ = env.step(actions)
        rows.append(numpy.concatenate([seen.ravel(), rewards, ended]))
    return rows


@needs_gymnasium
@pytest.mark.parametrize("count", [0, 1, 130, 250])
def test_unpickled_environment_continues(count: int) -> None:
    """After any number of steps, also beyond the end of an episode."""
    for env in environments():
        env.reset(seed=4)
        steps(env, count, 1)
        again, copied = pickle.loads(pickle.dumps(env)), copy.deepcopy(env)
        want = steps(env, 150, 2)
        for other in (again, copied):
            assert (numpy.array(steps(other, 150, 2)) == numpy.array(want)).all()
        # Seeds of later episodes, and a copy of a copy.
        last = pickle.loads(pickle.dumps(again))
        assert (last.reset(seed=9)[0] == env.reset(seed=9)[0]).all()
        assert (numpy.array(steps(last, 100, 3)) == numpy.array(steps(env, 100, 3))).all()


@needs_gymnasium
def test_environments_pickle_before_reset_and_wrapped() -> None:
    import gymnasium

    from forebay.gym import ID, AqmControl

    fresh = pickle.loads(pickle.dumps(next(environments())))
    with pytest.raises((ValueError, IndexError)):
        fresh.step(numpy.zeros((3, 1)))
    single = AqmControl(CASE_1, set=TEN)
    single.reset(seed=7)
    single.step(numpy.array([0.1]))
    again = pickle.loads(pickle.dumps(single))
    for p in (0.0, 0.2, 0.05):
        mine, theirs = single.step(numpy.array([p])), again.step(numpy.array([p]))
        assert (mine[0] == theirs[0]).all() and mine[1:] == theirs[1:]
    made = gymnasium.make(ID, scenario=str(CASE_1), set=TEN)
    made.reset(seed=3)
    made.step(numpy.array([0.3]))
    copied = pickle.loads(pickle.dumps(made))
    assert (made.step(numpy.array([0.1]))[0] == copied.step(numpy.array([0.1]))[0]).all()


@needs_gymnasium
def test_damaged_environments_are_refused() -> None:
    chance = random.Random(3)
    env = next(environments())
    env.reset(seed=1)
    steps(env, 3, 1)
    kind, parts, state = env._native.__reduce__()
    whole = kind(*parts)
    whole.__setstate__(state)
    refused = 0
    for _ in range(100):
        try:
            kind(*parts).__setstate__(damaged(state, chance))
        except (ValueError, TypeError, OverflowError, forebay.ForebayError):
            refused += 1
    assert refused > 50
    seed, actions, fingerprint = state[0]
    with pytest.raises(forebay.RunError, match="other packets"):
        kind(*parts).__setstate__([(seed, actions, fingerprint ^ 1), *state[1:]])
    with pytest.raises(ValueError, match="another number"):
        kind(*parts).__setstate__(state[1:])
    with pytest.raises(ValueError, match="another shape"):
        kind(*parts).__setstate__([(seed, actions[1:], fingerprint), *state[1:]])
