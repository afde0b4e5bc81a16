"""Running scenarios: here on all cores, or as a sweep that any executor works on."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from forebay import _native, _progress
from forebay.results import Results
from forebay.scenarios import ScenarioLike, read

__all__ = ["run"]


LARGEST_SEED = 2**53
MOST = 200_000
"""More runs of each are taken for a slip."""


def seeds_of(seeds: int | Iterable[int]) -> list[int]:
    """``5`` is the seeds 1 to 5; seeds that are given are whole numbers from 0 on, each once."""
    if isinstance(seeds, (str, bytes)):
        raise TypeError(f"seeds: a number or a list of numbers, not {seeds!r}")
    if not isinstance(seeds, Iterable) or getattr(seeds, "ndim", 1) == 0:
        count = operator.index(seeds)  # type: ignore[arg-type]
        if not 1 <= count <= MOST:
            raise ValueError(f"seeds: 1 to {MOST} of them, not {count}")
        return list(range(1, count + 1))
    found = [operator.index(seed) for seed in seeds]
    wrong = [seed for seed in found if not 0 <= seed <= LARGEST_SEED]
    if wrong or not found or len(set(found)) < len(found):
        raise ValueError(f"seeds: at least one, from 0 to {LARGEST_SEED}, each once, not {found[:20]}")
    return found


def run(
    scenario: ScenarioLike,
    *,
    aqm: Sequence[Any] | Any | None = None,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    seeds: int | Iterable[int] = 1,
    jobs: int | None = None,
    output: str | PathLike[str] | None = None,
    progress: bool | None = None,
    force: bool = False,
) -> Results:
    """Simulates a scenario under every discipline with the same seeds.

    Ctrl-C ends it with `KeyboardInterrupt`; what had finished is in ``output``, and the same call goes on there. What a
    discipline of one's own raises ends the call with it.

    Args:
        scenario: A scenario file's path, or a scenario.
        aqm: Disciplines in place of those that the file compares: words such as ``"raqm q0=50"``, or classes of one's own.
        set: Values by path, such as ``{"flows.ftp.count": 40}``.
        vary: Values along axes by path; each combination is a case.
        seeds: How many, from 1 on, or which.
        jobs: Runs at a time; as many as there are cores if not given.
        output: A directory for the results, as ``forebay run -o`` fills it; without it they are in memory only.
        progress: Show a bar; if not given, on a terminal and in a notebook.
        force: Run also what will take more than half of the memory, or more than a day.

    Returns:
        The runs: cases by seeds by disciplines.

    Raises:
        ScenarioError: The input is wrong, or too much without ``force``.
        StoreError: The directory cannot be used.

    Example:
        >>> results = forebay.run("case-1.toml", aqm=["raqm q0=50", "droptail"], seeds=3)
        >>> results.summary["queue_pkts_mean"]
    """
    found = read(scenario, aqm=aqm, set=set, vary=vary)
    numbers = seeds_of(seeds)
    runs = len(found.axes) * len(found.aqm) * len(numbers)
    with _progress.Bar(found.duration_s * runs, progress) as bar:
        where = None if output is None else fspath(output)
        return Results(_native.run(found, numbers, jobs, where, bar, False, force))
