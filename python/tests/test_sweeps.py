"""Sweeps: every executor gives the same results, and no finished run is lost."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import forebay
from executors import EXECUTORS, pool_executor

VARY = {"flows.ftp.count": [2, 5, 10]}


def found(results: forebay.Results) -> list[dict[str, Any]]:
    return [{name: value for name, value in run.items() if name != "cpu_seconds"} for run in results.runs]


@pytest.fixture(scope="module")
def here(short: forebay.Scenario, tmp_path_factory: pytest.TempPathFactory) -> forebay.Results:
    """The sweep in this process."""
    return forebay.sweep(short, vary=VARY, seeds=2, output=tmp_path_factory.mktemp("here") / "out")


def test_sweep_without_executor_equals_run(here: forebay.Results, short: forebay.Scenario) -> None:
    assert len(here) == 3 * 2 * 2
    assert found(here) == found(forebay.run(short, vary=VARY, seeds=2))
    assert here.directory is not None
    polars = pytest.importorskip("polars")
    shards = polars.read_parquet(here.directory / "shards" / "*.parquet")
    summary = polars.read_parquet(here.directory / "summary.parquet")
    assert sorted(shards["fingerprint"]) == sorted(summary["fingerprint"]) and len(shards) == 12


def test_sweep_results_are_below_the_runs_folder(
    short: forebay.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = forebay.sweep(short, vary={"flows.ftp.count": [2]})
    assert results.directory is not None and results.directory.parent == tmp_path / "runs"
    assert json.loads((results.directory / "meta.json").read_text())["title"] == "short"


@pytest.mark.parametrize("name", EXECUTORS)
def test_every_executor_gives_the_same_results(name: str, here: forebay.Results, short: forebay.Scenario, tmp_path: Path) -> None:
    for executor in EXECUTORS[name]():
        results = forebay.sweep(short, vary=VARY, seeds=2, executor=executor, output=tmp_path / "out")
        assert found(results) == found(here), "to the last bit"
        assert len(list((tmp_path / "out" / "shards").iterdir())) == 12
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").iterdir()}
        more = forebay.sweep(short, vary=VARY, seeds=3, executor=executor, output=tmp_path / "out")
        assert len(more) == 18 and found(more)[:12] == found(here), "it goes on where it was"
        assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A search of readings in this process."""
    return forebay.readings("msvb", readings=1, confirm=0, output=tmp_path_factory.mktemp("searched") / "out")


@pytest.mark.parametrize("name", ["processes", "dask", "ray"])
def test_every_executor_finds_the_same_readings(name: str, searched: dict[str, Any], tmp_path: Path) -> None:
    for executor in EXECUTORS[name]():
        options: dict[str, Any] = {"readings": 1, "confirm": 0, "output": tmp_path / "out"}
        shared = forebay.readings("msvb", executor=executor, **options)
        assert (shared["tried"], shared["differing"]) == (1, 1), "at least one that differs from the print"
        assert {**shared, "cpu_seconds": 0} == {**searched, "cpu_seconds": 0}
        log = tmp_path / "out" / "readings.jsonl"
        before = log.read_text()
        assert len(before.splitlines()) == 3, "a head and a line per reading"
        forebay.readings("msvb", executor=executor, **options)
        assert log.read_text() == before, "known results are not computed again"


def test_budget_ends_the_search_of_readings(tmp_path: Path) -> None:
    options: dict[str, Any] = {"readings": 2, "confirm": 0, "output": tmp_path / "out"}
    assert forebay.readings("msvb", budget_s=0, **options)["tried"] == 0
    for executor in EXECUTORS["threads"]():
        assert forebay.readings("msvb", budget_s=0, executor=executor, **options)["tried"] == 0
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="budget_s"):
            forebay.readings("msvb", budget_s=wrong, **options)


def test_unknown_paper_is_named(tmp_path: Path) -> None:
    with pytest.raises(forebay.ScenarioError, match="did you mean raqm"):
        forebay.readings("raqn", output=tmp_path / "out")


def written(directory: Path) -> dict[str, int]:
    """The finished runs, each with the time at which its file was written."""
    return {path.name: path.stat().st_mtime_ns for path in directory.glob("runs/*.json")}


def kill_one(directory: Path, finished: int, pids: Any, before: dict[str, int]) -> threading.Thread:
    """Kills a worker once `finished` runs are finished, and adds these to `before`."""

    def wait_and_kill() -> None:
        while len(written(directory)) < finished:
            time.sleep(0.01)
        before.update(written(directory))
        os.kill(pids()[0], signal.SIGKILL)

    thread = threading.Thread(target=wait_and_kill, daemon=True)
    thread.start()
    return thread


def pids_of_pool(executor: Any) -> list[int]:
    return list(executor._processes)


def pids_of_dask(executor: Any) -> list[int]:
    return [int(worker["pid"]) for worker in executor._client.run(lambda: {"pid": os.getpid()}).values()]


def pids_of_ray(executor: Any) -> list[int]:
    workers = []
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().decode()
        except OSError:
            continue
        if process.name.isdigit() and words.startswith("ray::forebay"):
            workers.append(int(process.name))
    return workers


PIDS = {"processes": pids_of_pool, "dask": pids_of_dask, "ray": pids_of_ray}


@pytest.mark.parametrize("name", PIDS)
@pytest.mark.filterwarnings("ignore:the executor broke")
def test_lost_worker_loses_no_finished_run(name: str, short: forebay.Scenario, tmp_path: Path) -> None:
    scenario = forebay.read(short, set={"duration": "400s"})
    options: dict[str, Any] = {"vary": VARY, "seeds": 4}
    for executor in EXECUTORS[name]():
        directory = tmp_path / "out"
        before: dict[str, int] = {}
        if name == "dask":
            pids = pids_of_dask(executor)
            thread = kill_one(directory, 4, lambda: pids, before)
        else:
            thread = kill_one(directory, 4, lambda: PIDS[name](executor), before)
        results = forebay.sweep(scenario, **options, executor=executor, output=directory)
        thread.join(10)
        assert not thread.is_alive(), "a worker was killed"
        after = written(directory)
        assert len(before) >= 4 and all(after[run] == at for run, at in before.items()), "no run is done twice"
    assert len(results) == 24
    assert found(results) == found(forebay.run(scenario, **options))


class Mine(forebay.Law):
    """A custom law, which workers must be able to import."""

    name = "mine_in_sweeps"
    p: float = 0.01

    def update(self, sample: Any) -> float:
        return self.p


def test_custom_classes_reach_workers(short: forebay.Scenario, tmp_path: Path) -> None:
    for executor in pool_executor():
        results = forebay.sweep(short, aqm=[Mine], seeds=2, executor=executor, output=tmp_path / "out")
        assert found(results) == found(forebay.run(short, aqm=[Mine], seeds=2))


def test_workers_without_the_directory_return_records(short: forebay.Scenario, tmp_path: Path) -> None:
    """Workers return their records as bytes, and the caller stores them."""
    from forebay import _native

    where = str(tmp_path / "out")
    sweep = _native.Sweep(short, [1], where, 1, False)
    left = sweep.left
    records = _native.work(short, [1], left, str(tmp_path / "elsewhere"))
    assert all(isinstance(record, bytes) for record in records)
    _native.bring(short, [1], where, [(place, record) for place, record in zip(left, records) if record is not None])
    sweep.close()
    assert _native.Sweep(short, [1], where, 1, False).left == []
    assert _native.work(short, [1], left, where) == [None, None]


def test_threads_with_one_directory_take_turns(short: forebay.Scenario, tmp_path: Path) -> None:
    def go(seeds: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            forebay.run(short, seeds=seeds, output=tmp_path / "out")

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(go, seeds) for seeds in (1, 3, 1, 3, 1, 3)]:
            done.result()
    seeds = len(json.loads((tmp_path / "out/meta.json").read_text())["seeds"])
    runs = json.loads((tmp_path / "out/summary.json").read_text())["runs"]
    assert len({run["seed"] for run in runs}) == seeds


def test_sweeps_with_one_directory_take_turns(short: forebay.Scenario, tmp_path: Path) -> None:
    def go() -> int:
        with ThreadPoolExecutor(2) as executor, warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return len(forebay.sweep(short, seeds=4, executor=executor, output=tmp_path / "out").runs)

    with ThreadPoolExecutor(2) as threads:
        assert [done.result() for done in [threads.submit(go) for _ in range(2)]] == [8, 8]


def test_sweep_does_not_follow_symlinked_token_file(short: forebay.Scenario, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    forebay.run(short, output=tmp_path / "out")
    (tmp_path / "out" / "sweep.token").symlink_to("../victim")
    with ThreadPoolExecutor(1) as executor:
        forebay.sweep(short, executor=executor, output=tmp_path / "out")
    assert (tmp_path / "victim").read_text() == "precious"
