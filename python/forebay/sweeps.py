"""Sweeps: a scenario over values and seeds, on this machine or on many.

Each finished run is in the sweep's directory before its worker takes the next, as a file of its own and as a Parquet shard
(``shards/*.parquet``, rows of the summary) that can be read while the sweep goes on. The same call goes on where another
one stopped.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from forebay import _native, _progress
from forebay.results import Results
from forebay.running import seeds_of
from forebay.scenarios import ScenarioLike, read

__all__ = ["RayExecutor", "sweep"]

_T = TypeVar("_T")
_Place = tuple[int, int, int]
_Done = list[bytes | None]

_CHUNK_S = 1.0
"""Seconds that a chunk of runs should take: far above what sending it costs."""
_AHEAD = 2
"""Chunks that wait for each worker."""


@functools.lru_cache(maxsize=4)
def _scenario(parts: tuple[Any, ...]) -> _native.Scenario:
    """A scenario is read once by each worker."""
    text, name, *changes = parts
    return _native.Scenario(text, name, *(list(change) for change in changes))


def _chunk(
    parts: tuple[Any, ...], classes: tuple[type, ...], seeds: list[int], places: list[_Place], directory: str
) -> tuple[_Done, float]:
    """What a worker does: some runs, and the seconds that they took."""
    for one in classes:
        _native.register(one)
    begin = time.perf_counter()
    done = _native.work(_scenario(parts), seeds, places, directory)
    return done, time.perf_counter() - begin


class RayExecutor(Executor):
    """A `concurrent.futures.Executor` over Ray tasks, which Ray itself runs again if their worker is lost.

    Args:
        options: What ``ray.remote`` takes, such as ``num_cpus=1``.
    """

    def __init__(self, **options: Any) -> None:
        import ray

        if not ray.is_initialized():
            ray.init()
        options = {"max_retries": 3, "name": "forebay"} | options
        self._call: Any = ray.remote(lambda do, args, kwargs: do(*args, **kwargs)).options(**options)
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        self._max_workers = int(resources.get("CPU", 1))

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        """Runs ``fn`` as a task."""
        future: Future[_T] = self._call.remote(fn, args, kwargs).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leaves Ray as it is."""


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
) -> Results:
    """Simulates every combination of values, disciplines and seeds.

    Args:
        scenario: A scenario file's path, or a scenario.
        vary: Values along axes by path, such as ``{"flows.ftp.count": [5, 50, 150]}``.
        aqm: Disciplines in place of those that the file compares, or classes of one's own.
        set: Values by path.
        seeds: How many, from 1 on, or which.
        executor: Who works: any `concurrent.futures.Executor`, Dask's ``client.get_executor()``, a `RayExecutor`; all
            cores of this process if not given. Results are the same to the last bit.
        output: A directory; ``runs/TITLE-HASH`` if not given, as the program has it.
        jobs: Runs at a time in this process.
        progress: Show a bar; if not given, on a terminal and in a notebook.

    Returns:
        The runs, their series on disk.

    A worker that is lost takes no finished run with it where it reaches ``output``; what it had not finished is done by the
    others, and in this process if the executor as a whole breaks.
    """
    found = read(scenario, aqm=aqm, set=set, vary=vary)
    numbers = seeds_of(seeds)
    where = str(output if output is not None else Path("runs") / f"{Path(found.name).stem}-{found.hash}")
    total = found.duration_s * len(found.axes) * len(found.aqm) * len(numbers)
    with _progress.Bar(total, progress) as bar:
        if executor is not None:
            _shared(found, numbers, str(Path(where).resolve()), executor, bar)
        return Results(_native.run(found, numbers, jobs, where, bar, True))


def _shared(
    found: _native.Scenario, seeds: list[int], where: str, executor: Executor, bar: Callable[[float], None]
) -> None:
    """Lets the executor do what is left, some runs at a time, as many as fill a chunk."""
    _, left = _native.results(found, seeds, where, summarise=False)
    done = len(found.axes) * len(found.aqm) * len(seeds) - len(left)
    parts = found.parts()
    key = (*parts[:2], *(tuple(change) for change in parts[2:]))
    classes = _own_classes(found)
    workers = int(getattr(executor, "_max_workers", None) or 4)
    waiting: dict[Future[tuple[_Done, float]], list[_Place]] = {}
    each_s = None
    try:
        while left or waiting:
            while left and len(waiting) < _AHEAD * workers:
                fair = max(1, len(left) // (_AHEAD * workers))
                size = 1 if each_s is None else max(1, min(int(_CHUNK_S / each_s), fair))
                places, left = left[:size], left[size:]
                waiting[executor.submit(_chunk, key, classes, seeds, places, where)] = places
            finished, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in finished:
                places = waiting.pop(future)
                records, took_s = future.result()
                each_s = max(took_s / len(places), 1e-6)
                brought = [(place, record) for place, record in zip(places, records) if record is not None]
                if brought:
                    _native.results(found, seeds, where, brought, summarise=False)
                done += len(places)
                bar(found.duration_s * done)
    except Exception as error:
        if not _is_broken(error):
            raise
        warnings.warn(f"the executor broke ({error}): this process does what is left", RuntimeWarning, stacklevel=3)
    finally:
        for future in waiting:
            future.cancel()


def _is_broken(error: Exception) -> bool:
    """Is it the executor's, not that of the runs?"""
    kinds = [f"{kind.__module__}.{kind.__name__}" for kind in type(error).__mro__]
    if "ray.exceptions.RayTaskError" in kinds:
        return False
    ours = ("ray.exceptions.RayError", "distributed.scheduler.KilledWorker", "distributed.comm.core.CommClosedError")
    return isinstance(error, BrokenExecutor) or any(kind in ours for kind in kinds)


def _own_classes(found: _native.Scenario) -> tuple[type, ...]:
    """Classes of one's own that the scenario names: a worker must know them."""
    from forebay import own

    names = [words.split()[0] for words in found.aqm]
    return tuple(one for name, one in own.KNOWN.items() if name in names)
