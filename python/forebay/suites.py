"""Suites of experiments, such as that of RFC 7928.

As in a sweep, an executor can do the runs of a suite on many machines.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Executor
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from forebay import _native, _progress
from forebay.own import words_of
from forebay.sweeps import sweep

__all__ = ["evaluate"]


def evaluate(
    suite: str | PathLike[str],
    *names: str,
    aqm: Sequence[Any] | Any | None = None,
    level: str = "normal",
    executor: Executor | None = None,
    output: str | PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Runs a suite of experiments and decides its claims, as ``forebay evaluate``.

    Args:
        suite: Name of a suite, e.g. ``"rfc7928"``, or the path of a folder.
        names: Ids of claims or sections; default: all.
        aqm: Disciplines to test, for a suite with sections for any discipline; default: those of the suite.
        level: ``"quick"``, ``"normal"`` or ``"full"``.
        executor: Any `concurrent.futures.Executor`, Dask's ``client.get_executor()`` or a `RayExecutor`; default: all
            cores of this process. Results are bit-identical.
        output: Output directory; default: ``runs/evaluate-SUITE``.
        jobs: Number of parallel runs in this process.
        progress: Show a progress bar, by tqdm if it is installed; default: on a terminal and in a notebook.

    Returns:
        ``claims``, each with ``id``, ``verdict`` and ``evidence``. ``evidence.subject`` is the discipline of its
        ``checks``, ``evidence.variants`` has the others.
    """
    one = aqm is not None and (isinstance(aqm, (str, type)) or not isinstance(aqm, Sequence))
    disciplines = [words_of(each) for each in ([aqm] if one else list(aqm or ()))]
    where = None if output is None else fspath(output)
    asked = (fspath(suite), list(names), disciplines, level, where)
    if executor is not None:
        directory, scenarios = _native.suite_scenarios(*asked, jobs)
        for folder, path, text, changes, contenders, seeds in scenarios:
            scenario = _native.Scenario(text, path, changes, [], contenders)
            place = Path(directory) / folder
            sweep(scenario, seeds=seeds, executor=executor, output=place, jobs=jobs, progress=progress, force=True)
    with _progress.Bars() as bars:
        bar = bars if _progress.shows(progress) else None
        found: dict[str, Any] = json.loads(_native.evaluate(*asked, jobs, bar))
    return found
