"""Forebay, the laboratory for Active Queue Management, from Python.

>>> import forebay
>>> results = forebay.run("case-1.toml", aqm=["raqm q0=50", "droptail"], seeds=3)
>>> print(results)
>>> results.plot()

Scenarios are read from files or built (`scenarios`), run here (`run`) or as sweeps anywhere (`sweep`); the models are in
`theory`, pictures in `plots`. `Discipline` is any discipline by itself; subclasses of `Law` and `Aqm` are disciplines of one's
own, which `testing` checks. `forebay.gym` has environments for reinforcement learning.
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
from forebay.running import run
from forebay.scenarios import Access, Bottleneck, Dumbbell, Egress, Flows, build, read
from forebay.sweeps import RayExecutor, sweep

__all__ = [
    "Access",
    "Actuation",
    "Aqm",
    "Bottleneck",
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
    "explain",
    "plots",
    "read",
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
    """Runs disciplines against each other with the same seeds.

    Args:
        scenario: A scenario file's path, or a scenario.
        aqm: Disciplines; differences are from the first.
        seeds: Runs of each.
        options: As for `run`.

    Returns:
        The ``compare`` of ``summary.json``: means with 95 % confidence intervals and paired differences.
    """
    return run(scenario, aqm=aqm, seeds=seeds, **options).compare


def disciplines() -> list[str]:
    """The names of all built-in disciplines."""
    return _native.disciplines()


def explain(name: str) -> dict[str, Any]:
    """All there is to know about a discipline, a marker, a congestion control or a kind of traffic: rule, parameters (unit,
    default, range, symbol, source), probes, presets, differences from the source."""
    found: dict[str, Any] = json.loads(_native.explain(name))
    return found


def reproduce(
    *names: str, level: str = "normal", output: str | PathLike[str] | None = None, progress: bool = False
) -> dict[str, Any]:
    """Reproduces papers or claims, such as ``"raqm"`` or ``"RAQM-1a"``; all papers if none is named.

    Args:
        names: Papers (``msc``, ``aaqm``, ``raqm``, ``red-tail``, ``msvb``) or ids of claims.
        level: ``"quick"``, ``"normal"`` or ``"full"``.
        output: A directory; beneath ``runs`` if not given.
        progress: Say on stderr how far it is.

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
    # Gymnasium is imported where it is asked for.
    if name == "gym":
        import importlib

        return importlib.import_module("forebay.gym")
    if name == "__version__":
        from importlib.metadata import version

        return version("forebay")
    raise AttributeError(f"module 'forebay' has no attribute {name!r}")
