"""Analytical models of a scenario: the documents of ``forebay theory`` and ``forebay tune`` as dictionaries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forebay import _native
from forebay.scenarios import ScenarioLike, read

if TYPE_CHECKING:
    import numpy

__all__ = ["fluid", "markov", "mmpp", "stability", "stability_map", "tune"]


def _rows(document: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(document)["results"]
    return rows


def _changes(aqm: Any, set: Any, vary: Any) -> dict[str, Any]:
    return {"aqm": aqm, "set": set, "vary": vary}


def stability(
    scenario: ScenarioLike,
    *,
    aqm: Any = None,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    critical: bool = False,
) -> list[dict[str, Any]]:
    """Equilibrium and stability margins of long-lived TCP with each discipline: Nyquist, with exact delays.

    Args:
        scenario: A scenario file's path, or a scenario.
        aqm, set, vary: See `forebay.run`.
        critical: Also compute the critical number of flows, RTT and rate.

    Returns:
        One dictionary per case and discipline: ``stable``, ``q_rest_pkts``, ``p_rest``, ``delay_margin_ms``,
        ``phase_margin_deg``, ``gain_margin``, ``crossover_rad_per_s``, ..., or ``no_answer``.
    """
    return _rows(_native.stability(read(scenario, **_changes(aqm, set, vary)), critical))


def fluid(
    scenario: ScenarioLike,
    *,
    aqm: Any = None,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
) -> list[dict[str, Any]]:
    """Trajectory of the nonlinear fluid model from an empty queue: ``t_s``, ``q_pkts``, ``p``, and summary values."""
    return _rows(_native.fluid(read(scenario, **_changes(aqm, set, vary))))


def markov(
    scenario: ScenarioLike,
    *,
    p: float | None = None,
    step: str | None = None,
    sigma: str | None = None,
    aqm: Any = None,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
) -> list[dict[str, Any]]:
    """Distribution of the TCP queue at one signal probability. Rates are updated every ``step``, with noise ``sigma``.

    Args:
        p: Signal probability; default: that of the discipline's equilibrium.
        step: E.g. ``"0.5rtt"`` or ``"100ms"``.
        sigma: Standard deviation of the noise per step, e.g. ``"77kbit"``.
    """
    given = [None if value is None else str(value) for value in (p, step, sigma)]
    return _rows(_native.markov(read(scenario, **_changes(aqm, set, vary)), *given))


def mmpp(
    scenario: ScenarioLike,
    *,
    aqm: Any = None,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
) -> list[dict[str, Any]]:
    """Stationary queue, delay and losses under mmpp, map, onoff and Poisson traffic; exact."""
    return _rows(_native.mmpp(read(scenario, **_changes(aqm, set, vary))))


def stability_map(
    scenario: ScenarioLike, x: str, y: str, *, aqm: str, set: Mapping[str, Any] | None = None, cells: int = 200
) -> dict[str, Any]:
    """Stability of a loop over two of ``flows``, ``rtt`` and ``rate``.

    Args:
        x, y: Ranges, e.g. ``"flows=5..250"`` and ``"rtt=40ms..1s"``.
        aqm: The discipline.
        cells: Number of cells along each axis.

    Returns:
        ``x`` and ``y``, values of shape ``(cells,)``, and arrays of shape ``(len(y), len(x))``: ``stable`` (1, 0, or
        NaN without equilibrium), ``q_rest_pkts``, ``p_rest``, ``delay_margin_ms``.
    """
    import numpy

    document = json.loads(_native.stability_map(read(scenario, aqm=aqm, set=set), x, y, cells))
    first, axes = document["results"][0], document["map"]

    def layer(name: str) -> numpy.ndarray[Any, Any]:
        rows = [[float("nan") if cell is None else float(cell) for cell in row] for row in first[name]]
        return numpy.asarray(rows, dtype=numpy.float64)

    layers = {name: layer(name) for name in ("stable", "q_rest_pkts", "p_rest", "delay_margin_ms")}
    values = {side: numpy.asarray(axes[side]["values"], dtype=numpy.float64) for side in ("x", "y")}
    return values | {"x_name": axes["x"]["axis"], "y_name": axes["y"]["axis"]} | layers


def tune(
    scenario: ScenarioLike,
    *,
    aqm: str,
    aims: Sequence[str],
    output: str,
    seeds: int = 3,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Parameters that meet aims in the model (e.g. ``"delay-margin>=50ms"``, ``"queue<=20ms"``), checked in simulation.

    Args:
        aqm: The discipline to tune.
        aims: The aims.
        output: Output directory for the runs.
        seeds: Number of runs per discipline.
        force: Run even if it will use over half of the memory or take over a day.

    Returns:
        The document of ``forebay tune``; ``aqm`` is the discipline string found.
    """
    given = str(aqm)
    chosen = read(scenario, **_changes(given, set, vary))
    found: dict[str, Any] = json.loads(_native.tune(chosen, given, [str(aim) for aim in aims], output, seeds, force))
    return found
