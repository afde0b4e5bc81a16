"""Scenarios: read from a file, or built from dataclasses with the names of the file's keys.

Quantities are strings in the notation of tc(8): ``"15mbit"``, ``"20ms"``, ``"400p"`` (packets), ``"160kb"``. ``more``
takes keys of the file that a class does not define.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, Literal, Union

from forebay import _toml
from forebay._native import Discipline, Scenario
from forebay.own import words_of

__all__ = ["Access", "Bottleneck", "Dumbbell", "Egress", "Flows", "Scenario", "ScenarioLike", "build", "read"]

ScenarioLike = Union[str, "PathLike[str]", Scenario]
"""A scenario file's path, or a scenario."""


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """The bottleneck; its results are recorded."""

    rate: str
    """Link rate, e.g. ``"10mbit"``."""
    delay: str
    """One-way propagation delay."""
    queue: str
    """Buffer, without the packet in transmission."""
    aqm: str | None = None
    """Discipline; ``compare`` overrides it."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other keys of the table, e.g. ``loss`` or ``reverse``."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """The senders' links."""

    rate: str
    """Rate of each link."""
    delays: Sequence[str]
    """Propagation delays; host h has ``delays[h mod n]``."""
    hosts: int | None = None
    """Number of hosts; default: the number of delays."""
    queue: str | None = None
    """Buffer of each link."""
    jitter: str | None = None
    """Processing times of hosts are uniform from 0 to this."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other keys of the table."""


@dataclass(frozen=True, kw_only=True)
class Egress:
    """The receivers' links."""

    delay: str
    """Propagation delay."""
    rate: str | None = None
    """Rate of each link."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other keys of the table."""


@dataclass(frozen=True, kw_only=True)
class Dumbbell:
    """Senders, one bottleneck, receivers."""

    bottleneck: Bottleneck
    access: Access
    egress: Egress
    kind: str = "dumbbell"


@dataclass(frozen=True, kw_only=True)
class Flows:
    """A group of identical flows."""

    kind: str
    """``ftp``, ``web``, ``cbr``, ...: see ``forebay list traffic``."""
    count: int | None = None
    """Number of flows."""
    tcp: str | None = None
    """Congestion control: see ``forebay list congestion``."""
    name: str | None = None
    """Name of the group."""
    ecn: bool | Literal["ect0", "ect1"] | None = None
    """ECN codepoint of the data; ``True``: the sender's default."""
    l4s: bool | None = None
    """Does ``ecn=True`` mean ECT(1) for DCTCP?"""
    start: Any = None
    """Start time: a time, or ``{"uniform": ["0s", "1s"]}``."""
    active: Sequence[Any] | None = None
    """Intervals in which the flows send."""
    rtt: Any = None
    """Round-trip time without queueing."""
    rate: str | None = None
    """Rate, for ``cbr`` and similar kinds."""
    packet: int | None = None
    """Packet size on the wire, bytes; default: that of the scenario."""
    class_: int | str | None = None
    """Service class."""
    direction: str | None = None
    """``"reverse"``: from the receivers' side to the senders' side."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other keys of the table."""


def build(
    *,
    topology: Dumbbell | Mapping[str, Any],
    flows: Sequence[Flows | Mapping[str, Any]],
    duration: str,
    warmup: str | None = None,
    packet: int | None = None,
    title: str = "scenario",
    aqm: Sequence[Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    series: Sequence[str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Scenario:
    """Builds a scenario.

    Args:
        topology: A `Dumbbell`, or a mapping like the file's ``[topology]``.
        flows: Groups of flows.
        duration: Simulated time.
        warmup: Initial part that is excluded from statistics.
        packet: Packet size on the wire, bytes.
        title: Title in reports.
        aqm: Disciplines to compare.
        vary: Axes: lists of values; each combination is a case.
        series: What to record over time in addition to the queue, e.g. ``"raqm.p"``.
        more: Other keys of the file.

    Raises:
        ScenarioError: The scenario is invalid; the line refers to the text of ``to_toml()``.
    """
    document = {
        "version": 1,
        "title": title,
        "duration": duration,
        "warmup": warmup,
        "packet": packet,
        "topology": topology,
        "flows": list(flows),
        "compare": {"aqm": [words_of(one) for one in aqm]} if aqm else None,
        "vary": vary,
        "report": {"series": list(series)} if series else None,
        **(more or {}),
    }
    return Scenario(_toml.document(document), f"{title}.toml")


def read(
    scenario: ScenarioLike,
    *,
    aqm: Sequence[str] | str | None = None,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    both_directions: bool = False,
) -> Scenario:
    """Reads a scenario and applies overrides, as ``--aqm``, ``--set``, ``--vary`` and ``--both-directions`` do.

    Args:
        scenario: A path, or a scenario.
        aqm: Disciplines to use instead of the file's: strings or custom classes.
        set: Values by path, e.g. ``{"flows.ftp.count": 40}``.
        vary: Axes: lists of values by path; each combination is a case.
        both_directions: Run the compared disciplines on the opposite links too.
    """
    found = scenario if isinstance(scenario, Scenario) else Scenario.load(fspath(scenario))
    one = isinstance(aqm, (str, type)) or isinstance(aqm, Discipline)
    disciplines = [aqm] if one else list(aqm or ())
    if not (disciplines or set or vary or both_directions):
        return found
    return found.changed(
        [f"{path}={_toml.value(value)}" for path, value in (set or {}).items()],
        [f"{path}={','.join(_words(path, values))}" for path, values in (vary or {}).items()],
        [words_of(one) for one in disciplines],
        both_directions,
    )


def _words(path: str, values: Any) -> list[str]:
    """The values of an axis as strings, as on the command line."""
    values = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"vary: {path} takes a list of values, not {values!r}")
    words = [value if isinstance(value, str) else _toml.value(value) for value in values]
    if not words:
        raise ValueError(f"vary: {path} has no value")
    odd = [word for word in words if "," in word or ".." in word]
    if odd:
        raise ValueError(f"vary: {odd[0]!r} cannot be a value of {path} here; write it in [vary] of the scenario")
    return words
