"""Runs scenarios on all cores of this machine."""

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
"""Maximum number of runs; larger numbers are taken for mistakes."""


def seeds_of(seeds: int | Iterable[int]) -> list[int]:
    """``5`` means seeds 1 to 5. Explicit seeds are distinct integers from 0 to 2**53."""
    if isinstance(seeds, (str, bytes)):
        raise TypeError(f"seeds must be a number or a list of numbers, not {seeds!r}")
    if not isinstance(seeds, Iterable) or getattr(seeds, "ndim", 1) == 0:
        count = operator.index(seeds)  # type: ignore[arg-type]
        if not 1 <= count <= MOST:
            raise ValueError(f"seeds: the number must be from 1 to {MOST}, not {count}")
        return list(range(1, count + 1))
    found = [operator.index(seed) for seed in seeds]
    wrong = [seed for seed in found if not 0 <= seed <= LARGEST_SEED]
    if wrong or not found or len(set(found)) < len(found):
        raise ValueError(f"seeds: give at least one, distinct, from 0 to {LARGEST_SEED}, not {found[:20]}")
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
    both_directions: bool = False,
) -> Results:
    """Simulates a scenario with every discipline and the same seeds.

    Ctrl-C raises `KeyboardInterrupt`. Finished runs are kept in ``output``; the same call resumes there. An exception
    in a custom discipline ends the call.

    Args:
        scenario: A scenario file's path, or a scenario.
        aqm: Disciplines to use instead of the file's: strings such as ``"raqm q0=50"``, or custom classes.
        set: Values by path, e.g. ``{"flows.ftp.count": 40}``.
        vary: Axes: lists of values by path; each combination is a case.
        seeds: Number of seeds, counted from 1, or a list of seeds.
        jobs: Number of parallel runs; default: one per core.
        output: Output directory, as with ``forebay run -o``; default: results in memory only.
        progress: Show a progress bar, by tqdm if it is installed; default: on a terminal and in a notebook.
        force: Run even if it will use over half of the memory or take over a day.
        both_directions: Run the compared disciplines on the opposite links too.

    Returns:
        The runs: cases x seeds x disciplines.

    Raises:
        ScenarioError: The input is wrong, or the runs are too large without ``force``.
        StoreError: The directory cannot be used.

    Example:
        >>> results = forebay.run("case-1.toml", aqm=["raqm q0=50", "droptail"], seeds=3)
        >>> results.summary["queue_pkts_mean"]
    """
    found = read(scenario, aqm=aqm, set=set, vary=vary, both_directions=both_directions)
    numbers = seeds_of(seeds)
    runs = len(found.axes) * len(found.aqm) * len(numbers)
    with _progress.Bar(found.duration_s * runs, progress) as bar:
        where = None if output is None else fspath(output)
        return Results(_native.run(found, numbers, jobs, where, bar, False, force))


def load(directory: str | PathLike[str]) -> Results:
    """The results in a directory of ``forebay run``, ``sweep`` or ``link``, or of `run` with ``output``.

    Complete runs are read; tables of series, flows and completions are read from the directory on demand.

    Args:
        directory: The directory.

    Raises:
        StoreError: The directory has no results, or a file in it is damaged.

    Example:
        >>> forebay.load("runs/case-1").traffic["wait_ms_p99"]
    """
    return Results(_native.load(fspath(directory)))
