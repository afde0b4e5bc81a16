"""Readings of a paper: values for the settings that it does not state, under which its claims hold or not.

As in a sweep, an executor can simulate the readings on many machines. Each result is stored in the log of the output
directory as it arrives; repeat the call to resume.
"""

from __future__ import annotations

import functools
import json
import math
import time
from concurrent.futures import Executor, Future
from os import PathLike
from pathlib import Path
from typing import Any

from forebay import _native, _progress
from forebay.errors import RunError
from forebay.sweeps import distribute

__all__ = ["readings"]


@functools.lru_cache(maxsize=2)
def _search(paper: str, seeds: int) -> _native.Search:
    """Reads the files of the paper once per worker."""
    return _native.Search(paper, seeds)


def _chunk(paper: str, seeds: int, about: str, chunk: list[str]) -> tuple[list[str], float]:
    """The work of a worker: simulates some readings. Returns lines of the log and the time taken, s."""
    begin = time.perf_counter()
    search = _search(paper, seeds)
    if search.about != about:
        raise RunError(f"a worker has another build of forebay: {search.about}, not {about}")
    return [search.score(reading) for reading in chunk], time.perf_counter() - begin


def readings(
    paper: str,
    *,
    readings: int = 2000,
    seeds: int = 1,
    confirm: int = 30,
    budget_s: float | None = None,
    executor: Executor | None = None,
    output: str | PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Searches the readings of a paper under which its claims hold.

    Args:
        paper: Name of the paper.
        readings: Number of readings to try.
        seeds: Number of seeds with which each reading is simulated.
        confirm: Number of further seeds with which the best readings are simulated again, in this process; 0: not
            again.
        budget_s: Time limit of the search and the confirmation, s. No reading is begun after it; with an executor, no
            generation of readings. Call again to continue.
        executor: Any `concurrent.futures.Executor`, Dask's ``client.get_executor()`` or a `RayExecutor`; default: all
            cores of this process. The results are the same. Workers need the same build of the package.
        output: Output directory; default: ``runs/readings-PAPER``.
        jobs: Number of readings that this process simulates at the same time.
        progress: Show a progress bar, by tqdm if it is installed; default: on a terminal and in a notebook.

    Returns:
        The document of ``forebay readings --json``.

    Raises:
        ScenarioError: The paper is unknown.
        ValueError: `budget_s` is negative or not a number.
        RunError: The directory has results of other files, another build or another number of seeds.
    """
    if budget_s is not None and not budget_s >= 0:
        raise ValueError(f"budget_s: {budget_s} is not a time in seconds")
    until = math.inf if budget_s is None else time.monotonic() + budget_s
    where = str(output if output is not None else Path("runs") / f"readings-{paper.lower()}")
    if executor is not None:
        search = _native.Search(paper, seeds)
        with _progress.Bar(search.simulated_s * readings, progress) as bar:
            _shared(search, paper, readings, seeds, where, executor, bar, until)
    left = None if budget_s is None else max(0.0, until - time.monotonic())
    with _progress.Bars() as bars:
        shown = bars if _progress.shows(progress) else None
        text = _native.readings(paper, readings, seeds, confirm, where, left, jobs, shown)
    found: dict[str, Any] = json.loads(text)
    return found


def _shared(
    search: _native.Search,
    paper: str,
    readings: int,
    seeds: int,
    where: str,
    executor: Executor,
    bar: _progress.Bar,
    until: float,
) -> None:
    """Lets the executor simulate the readings, one generation of the search after the other, until a monotonic time."""
    unknown, known = search.unknown(readings, where)

    def submit(chunk: list[str]) -> Future[tuple[list[str], float]]:
        return executor.submit(_chunk, paper, seeds, search.about, chunk)

    def take(chunk: list[str], lines: list[str]) -> None:
        nonlocal known
        search.add(lines, where)
        known += len(chunk)
        bar(search.simulated_s * known)

    while unknown and time.monotonic() < until and distribute(executor, unknown, submit, take):
        unknown, known = search.unknown(readings, where)
