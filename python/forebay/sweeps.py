"""Sweeps: a scenario over values and seeds, on one machine or many.

Each finished run is stored in the sweep's directory before its worker takes the next: as a file, and as a Parquet shard
(``shards/*.parquet``, rows of the summary) that can be read while the sweep runs. Repeat the call to resume.
"""

from __future__ import annotations

import functools
import os
import re
import secrets
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from forebay import _native, _progress, own
from forebay.results import Results
from forebay.running import seeds_of
from forebay.scenarios import ScenarioLike, read

__all__ = ["RayExecutor", "sweep"]

_T = TypeVar("_T")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Place = tuple[int, int, int]
_Done = list[bytes | None]

_CHUNK_S = 1.0
"""Target duration of a chunk of runs, s: far above the cost of sending it."""
_TOKEN = "sweep.token"
_AHEAD = 2
"""Chunks queued per worker."""


@functools.lru_cache(maxsize=4)
def _scenario(parts: tuple[Any, ...], codes: tuple[str, ...]) -> _native.Scenario:
    """Parses the scenario once per worker, and again if custom classes change."""
    text, name, sets, vary, aqm, both_directions = parts
    return _native.Scenario(text, name, list(sets), list(vary), list(aqm), both_directions)


def _chunk(
    parts: tuple[Any, ...], classes: tuple[Any, ...], seeds: list[int], places: list[_Place], directory: str, token: str
) -> tuple[_Done, float]:
    """The work of a worker: does some runs. Returns their records and the time taken, s."""
    begin = time.perf_counter()
    for one in classes:
        if getattr(own.KNOWN.get(one._known_as()), "_code", None) != one._code:
            one._register()
    codes = tuple(one._code for one in classes)
    reached = _token(directory) == token
    done = _native.work(_scenario(parts, codes), seeds, places, directory if reached else None)
    return done, time.perf_counter() - begin


def _token(directory: str) -> str:
    """The token written by the caller. A directory of the same name on another machine does not contain it."""
    try:
        return (Path(directory) / _TOKEN).read_text()
    except OSError:
        return ""


def _do(work: Callable[..., _T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _T:
    """Calls ``work``; the function of a Ray task."""
    return work(*args, **kwargs)


class RayExecutor(Executor):
    """A `concurrent.futures.Executor` over Ray tasks. Ray repeats tasks whose worker was lost.

    Args:
        options: Options of ``ray.remote``, e.g. ``num_cpus=1``.
    """

    def __init__(self, **options: Any) -> None:
        import ray

        if not ray.is_initialized():
            ray.init()
        options = {"max_retries": 3, "name": "forebay"} | options
        self._call: Any = ray.remote(_do).options(**options)
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        self._max_workers = int(resources.get("CPU", 1))

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        """Runs ``fn`` as a task."""
        future: Future[_T] = self._call.remote(fn, args, kwargs).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Does nothing: Ray keeps running."""


def sweep(
    scenario: ScenarioLike,
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    aqm: Sequence[Any] | Any | None = None,
    set: Mapping[str, Any] | None = None,
    seeds: int | Iterable[int] = 1,
    executor: Executor | None = None,
    output: str | PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
    force: bool = False,
) -> Results:
    """Simulates every combination of values, disciplines and seeds.

    Args:
        scenario: A scenario file's path, or a scenario.
        vary: Axes: lists of values by path, e.g. ``{"flows.ftp.count": [5, 50, 150]}``.
        aqm: Disciplines to use instead of the file's: strings or custom classes.
        set: Values by path.
        seeds: Number of seeds, counted from 1, or a list of seeds.
        executor: Any `concurrent.futures.Executor`, Dask's ``client.get_executor()`` or a `RayExecutor`; default: all
            cores of this process. Results are bit-identical.
        output: Output directory; default: ``runs/TITLE-HASH``, as on the command line.
        jobs: Number of parallel runs in this process.
        progress: Show a progress bar, by tqdm if it is installed; default: on a terminal and in a notebook.
        force: Run even if it will use over half of the memory or take over a day.

    Returns:
        The runs; their series are on disk.

    Raises:
        ScenarioError: The input is wrong, or, without ``force``, too large for this machine's memory and cores.
        StoreError: The directory cannot be used.

    A lost worker loses no finished run if it can reach ``output``. Its unfinished runs are done by the other workers,
    or by this process if the executor breaks.
    """
    found = read(scenario, aqm=aqm, set=set, vary=vary)
    numbers = seeds_of(seeds)
    where = str(output if output is not None else Path("runs") / f"{Path(found.name).stem}-{found.hash}")
    total = found.duration_s * len(found.axes) * len(found.aqm) * len(numbers)
    with _progress.Bar(total, progress) as bar:
        if executor is None:
            return Results(_native.run(found, numbers, jobs, where, bar, True, force))
        where = str(Path(where).absolute())
        shared = _native.Sweep(found, numbers, where, min(_workers(executor), os.cpu_count() or 1), force)
        try:
            _shared(found, numbers, where, executor, bar, shared.left)
            # Runs that the executor has not finished are done here.
            return Results(_native.run(found, numbers, jobs, where, bar, True, True, shared))
        finally:
            shared.close()


def _shared(
    found: _native.Scenario,
    seeds: list[int],
    where: str,
    executor: Executor,
    bar: Callable[[float], None],
    left: list[_Place],
) -> None:
    """Lets the executor do the remaining runs, in chunks."""
    done = len(found.axes) * len(found.aqm) * len(seeds) - len(left)
    parts = found.parts()
    key = (*parts[:2], *(tuple(change) for change in parts[2:5]), parts[5])
    classes = _own_classes(found)
    token = secrets.token_hex(8)
    (Path(where) / _TOKEN).unlink(missing_ok=True)
    # Exclusive creation does not follow a symbolic link.
    with open(Path(where) / _TOKEN, "x") as file:
        file.write(token)

    def submit(places: list[_Place]) -> Future[tuple[_Done, float]]:
        return executor.submit(_chunk, key, classes, seeds, places, where, token)

    def take(places: list[_Place], records: _Done) -> None:
        nonlocal done
        brought = [(place, record) for place, record in zip(places, records) if record is not None]
        if brought:
            _native.bring(found, seeds, where, brought)
        done += len(places)
        bar(found.duration_s * done)

    known = f"; can its workers import {', '.join(one.name for one in classes)}?" if classes else ""
    try:
        distribute(executor, left, submit, take, known)
    finally:
        (Path(where) / _TOKEN).unlink(missing_ok=True)


def distribute(
    executor: Executor,
    left: list[_Item],
    submit: Callable[[list[_Item]], Future[tuple[_Result, float]]],
    take: Callable[[list[_Item], _Result], None],
    known: str = "",
) -> bool:
    """Lets the executor do ``left`` in chunks and takes the result of each chunk as it arrives.

    Args:
        executor: The executor.
        left: What is to be done.
        submit: Submits a chunk. Its result has the time that the chunk took, s.
        take: Called with each chunk and its result.
        known: Appended to the warning if the executor breaks.

    Returns:
        False, after a warning, if the executor broke.
    """
    waiting: dict[Future[tuple[_Result, float]], list[_Item]] = {}
    each_s = None
    try:
        while left or waiting:
            workers = _workers(executor)
            while left and len(waiting) < _AHEAD * workers:
                fair = max(1, len(left) // (_AHEAD * workers))
                size = 1 if each_s is None else max(1, min(int(_CHUNK_S / each_s), fair))
                chunk, left = left[:size], left[size:]
                waiting[submit(chunk)] = chunk
            finished, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in finished:
                chunk = waiting.pop(future)
                result, took_s = future.result()
                each_s = max(took_s / len(chunk), 1e-6)
                take(chunk, result)
    except Exception as error:
        if not _is_broken(error):
            raise
        what = f"the executor broke ({error}{known}): this process does the remaining runs"
        warnings.warn(what, RuntimeWarning, stacklevel=4)
        return False
    finally:
        for future in waiting:
            future.cancel()
    return True


def _is_broken(error: Exception) -> bool:
    """Is it an error of the executor, and not of the runs?"""
    kinds = [f"{kind.__module__}.{kind.__name__}" for kind in type(error).__mro__]
    if "ray.exceptions.RayTaskError" in kinds:
        return False
    ours = ("ray.exceptions.RayError", "distributed.scheduler.KilledWorker", "distributed.comm.core.CommClosedError")
    return isinstance(error, BrokenExecutor) or any(kind in ours for kind in kinds)


def _own_classes(found: _native.Scenario) -> tuple[Any, ...]:
    """The custom classes that the scenario names; workers need them."""
    text, _, *changes, _ = found.parts()
    named = set(re.findall(r"(?:own:)?[\w-]+", " ".join([text, *(word for words in changes for word in words)])))
    return tuple(one for name, one in own.KNOWN.items() if name in named)


def _workers(executor: Executor) -> int:
    """Number of parallel workers, if the executor tells; else 4."""
    threads = getattr(getattr(executor, "_client", None), "nthreads", None)
    if threads is not None:
        return max(1, int(sum(threads().values())))
    return int(getattr(executor, "_max_workers", None) or 4)
