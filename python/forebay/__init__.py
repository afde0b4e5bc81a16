"""Forebay, the laboratory for Active Queue Management, from Python.

>>> import forebay
>>> results = forebay.run("case-1.toml", aqm=["raqm q0=50", "droptail"], seeds=3)
>>> print(results)
>>> results.plot()

Read scenarios from files or build them (`scenarios`). Run them here (`run`) or as sweeps on any executor (`sweep`).
`theory` has the analytical models, `plots` the figures. `Discipline` is a single discipline without a link. Subclass
`Law` or `Aqm` for a custom discipline, `CongestionControl` for a custom sender; `testing` checks them. `forebay.gym` has
environments for reinforcement learning.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

from forebay import _native, _progress, plots, results, scenarios, sweeps, testing, theory
from forebay._native import Discipline, Scenario, Table
from forebay.errors import ForebayError, RunError, ScenarioError, StoreError
from forebay.own import Actuation, Aqm, Law
from forebay.results import Results
from forebay.running import load, run
from forebay.scenarios import Access, Bottleneck, Dumbbell, Egress, Flows, build, read
from forebay.searching import readings
from forebay.senders import CongestionControl
from forebay.suites import evaluate
from forebay.sweeps import RayExecutor, sweep

__all__ = [
    "Access",
    "Actuation",
    "Aqm",
    "Bottleneck",
    "CongestionControl",
    "Discipline",
    "Dumbbell",
    "Egress",
    "Flows",
    "ForebayError",
    "Law",
    "RayExecutor",
    "Results",
    "RunError",
    "Scenario",
    "ScenarioError",
    "StoreError",
    "Table",
    "build",
    "compare",
    "disciplines",
    "evaluate",
    "explain",
    "load",
    "plots",
    "read",
    "readings",
    "reproduce",
    "results",
    "run",
    "scenarios",
    "sweep",
    "sweeps",
    "testing",
    "theory",
]


def compare(scenario: scenarios.ScenarioLike, aqm: Sequence[Any], *, seeds: int = 10, **options: Any) -> dict[str, Any]:
    """Compares disciplines with the same seeds.

    Args:
        scenario: A scenario file's path, or a scenario.
        aqm: Disciplines; differences are relative to the first.
        seeds: Number of runs per discipline.
        options: See `run`.

    Returns:
        The ``compare`` of ``summary.json``: means with 95 % confidence intervals and paired differences.
    """
    return run(scenario, aqm=aqm, seeds=seeds, **options).compare


def disciplines() -> list[str]:
    """The names of all built-in disciplines."""
    return _native.disciplines()


def explain(name: str) -> dict[str, Any]:
    """Describes a discipline, marker, congestion control or traffic kind: rule, parameters (unit, default, range,
    symbol, source), probes, presets, differences from the source."""
    found: dict[str, Any] = json.loads(_native.explain(name))
    return found


def reproduce(
    *names: str, level: str = "normal", output: str | PathLike[str] | None = None, progress: bool = False
) -> dict[str, Any]:
    """Reproduces papers or claims, e.g. ``"raqm"`` or ``"RAQM-1a"``; without names, all papers.

    Args:
        names: Papers (``msc``, ``aaqm``, ``raqm``, ``red-tail``, ``msvb``) or claim ids.
        level: ``"quick"``, ``"normal"`` or ``"full"``.
        output: Output directory; default: a directory in ``runs``.
        progress: Show a progress bar, by tqdm if it is installed, and notes on stderr.

    Returns:
        ``claims``, each with ``id``, ``verdict`` and ``evidence``, and a ``summary``.
    """
    levels = ("quick", "normal", "full")
    if level not in levels:
        raise ValueError(f"level {level!r}: one of {', '.join(levels)}")
    where = None if output is None else fspath(output)
    with _progress.Bars() as bars:
        found: dict[str, Any] = json.loads(_native.reproduce(names, level, where, bars if progress else None))
    return found


def __getattr__(name: str) -> Any:
    # Import Gymnasium only on demand.
    if name == "gym":
        import importlib

        return importlib.import_module("forebay.gym")
    if name == "__version__":
        from importlib.metadata import version

        return version("forebay")
    raise AttributeError(f"module 'forebay' has no attribute {name!r}")
