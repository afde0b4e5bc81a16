"""What the models say of a scenario: the documents of ``forebay theory`` and ``forebay tune`` as dictionaries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forebay import _native, _toml
from forebay.scenarios import ScenarioLike, read

if TYPE_CHECKING:
    import numpy

__all__ = ["fluid", "markov", "mmpp", "stability", "stability_map", "tune"]


def _document(words: Sequence[str], scenario: ScenarioLike, options: Sequence[str]) -> dict[str, Any]:
    """The document of a command about a scenario."""
    text, name, sets, vary, aqm = read(scenario).parts()
    changes = [f"--set={one}" for one in sets] + [f"--vary={one}" for one in vary] + [f"--aqm={one}" for one in aqm]
    return _run([*words, *changes, *options, "--", name], scenario=text)


def _run(words: Sequence[str], quiet: bool = True, scenario: str | None = None) -> dict[str, Any]:
    # What comes after -- are names, whatever they look like.
    end = words.index("--") if "--" in words else len(words)
    found: dict[str, Any] = json.loads(_native.document([*words[:end], "--json", *words[end:]], quiet, scenario))
    return found


def _rows(topic: str, scenario: ScenarioLike, changes: dict[str, Any], options: Sequence[str]) -> list[dict[str, Any]]:
    document = _document(["theory", topic], read(scenario, **changes), options)
    rows: list[dict[str, Any]] = document["results"]
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
    """Rest and margins of the loop of long-lived TCP and each discipline, by Nyquist with exact delays.

    Args:
        scenario: A scenario file's path, or a scenario.
        aqm, set, vary: As for `forebay.run`.
        critical: Also at which flows, round trip and rate it turns unstable.

    Returns:
        A dictionary per case and discipline: ``stable``, ``q_rest_pkts``, ``p_rest``, ``delay_margin_ms``,
        ``phase_margin_deg``, ``gain_margin``, ``crossover_rad_per_s`` and more, or ``no_answer``.
    """
    return _rows("stability", scenario, _changes(aqm, set, vary), ["--critical"] if critical else [])


def fluid(
    scenario: ScenarioLike,
    *,
    aqm: Any = None,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
) -> list[dict[str, Any]]:
    """The course of the nonlinear fluid model from an empty queue: ``t_s``, ``q_pkts``, ``p`` and what they come to."""
    return _rows("fluid", scenario, _changes(aqm, set, vary), [])


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
    """The distribution of TCP's queue at one signal probability, its rates set anew every ``step``, with noise ``sigma``.

    Args:
        p: Signal probability; that at the discipline's rest if not given.
        step: Such as ``"0.5rtt"`` or ``"100ms"``.
        sigma: Standard deviation of the noise per step, such as ``"77kbit"``.
    """
    given = [("--p", p), ("--step", step), ("--sigma", sigma)]
    options = [f"{name}={value}" for name, value in given if value is not None]
    return _rows("markov", scenario, _changes(aqm, set, vary), options)


def mmpp(
    scenario: ScenarioLike,
    *,
    aqm: Any = None,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
) -> list[dict[str, Any]]:
    """Queue, delay and losses in the long run under mmpp, map, onoff and Poisson traffic, exactly."""
    return _rows("mmpp", scenario, _changes(aqm, set, vary), [])


def stability_map(
    scenario: ScenarioLike, x: str, y: str, *, aqm: str, set: Mapping[str, Any] | None = None, cells: int = 200
) -> dict[str, Any]:
    """Where a loop is stable, over two of ``flows``, ``rtt`` and ``rate``.

    Args:
        x, y: Ranges, such as ``"flows=5..250"`` and ``"rtt=40ms..1s"``.
        aqm: The discipline.
        cells: Cells along each.

    Returns:
        ``x`` and ``y``, values of shape ``(cells,)``, and by name arrays of shape ``(len(y), len(x))``: ``stable`` (1, 0, NaN
        where there is no rest), ``q_rest_pkts``, ``p_rest``, ``delay_margin_ms``.
    """
    import numpy

    found = read(scenario, aqm=aqm, set=set)
    document = _document(["theory", "stability"], found, [f"--map={x}", f"--map={y}", f"--points={cells}"])
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
    """Parameters that meet aims such as ``"delay-margin>=50ms"`` and ``"queue<=20ms"`` in the model, tried in the simulator.

    Args:
        aqm: The discipline whose parameters are sought.
        aims: What they are to meet.
        output: A directory for the runs.
        seeds: Runs of each.
        force: Run also what will take more than half of the memory, or more than a day.

    Returns:
        The document of ``forebay tune``: ``aqm`` are the words that were found.
    """
    options = [f"--for={aim}" for aim in aims] + [f"--runs={seeds}", f"--output={output}", f"--aqm={aqm}"]
    options += ["--force"] if force else []
    varied = [f"--vary={path}={','.join(map(_toml.value, values))}" for path, values in (vary or {}).items()]
    return _document(["tune"], read(scenario, set=set), options + varied)
