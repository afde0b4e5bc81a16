"""Scenarios: read from a file, or built from dataclasses that have the file's names.

Quantities are words as tc(8) writes them: ``"15mbit"``, ``"20ms"``, ``"400p"`` (packets), ``"160kb"``. What a table of the
file can have and a class here does not name goes into its ``more``.
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
    """The link under study."""

    rate: str
    """Capacity, such as ``"10mbit"``."""
    delay: str
    """Propagation delay one way."""
    queue: str
    """Buffer, the packet in transmission not counted."""
    aqm: str | None = None
    """Its discipline; what ``compare`` says goes before."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other entries of the table, such as ``loss`` or ``reverse``."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """The senders' links."""

    rate: str
    """Rate of each."""
    delays: Sequence[str]
    """Propagation delays; host h has ``delays[h mod n]``."""
    hosts: int | None = None
    """How many hosts; as many as delays if not given."""
    queue: str | None = None
    """Buffer of each link."""
    jitter: str | None = None
    """Processing times of hosts are uniform from 0 to this."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other entries of the table."""


@dataclass(frozen=True, kw_only=True)
class Egress:
    """The receivers' links."""

    delay: str
    """Propagation delay."""
    rate: str | None = None
    """Rate of each."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other entries of the table."""


@dataclass(frozen=True, kw_only=True)
class Dumbbell:
    """Senders, one bottleneck, receivers."""

    bottleneck: Bottleneck
    access: Access
    egress: Egress
    kind: str = "dumbbell"


@dataclass(frozen=True, kw_only=True)
class Flows:
    """A group of like flows."""

    kind: str
    """``ftp``, ``web``, ``cbr`` and so on: ``forebay list traffic``."""
    count: int | None = None
    """How many."""
    tcp: str | None = None
    """Congestion control: ``forebay list congestion``."""
    name: str | None = None
    """Of the group."""
    ecn: bool | Literal["ect0", "ect1"] | None = None
    """ECN codepoint of its data; ``True`` is the sender's own."""
    l4s: bool | None = None
    """Is the codepoint of DCTCP its own ECT(1)?"""
    start: Any = None
    """When they start: a time, or ``{"uniform": ["0s", "1s"]}``."""
    active: Sequence[Any] | None = None
    """The windows in which they send."""
    rtt: Any = None
    """Round trip without queueing."""
    rate: str | None = None
    """Of ``cbr`` and the like."""
    packet: int | None = None
    """Bytes on the wire; those of the scenario if not given."""
    class_: int | str | None = None
    """Service class."""
    direction: str | None = None
    """``"reverse"``: against the others."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other entries of the table."""


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
        topology: A `Dumbbell`, or a mapping as the file's ``[topology]`` has it.
        flows: Groups of flows.
        duration: Simulated time.
        warmup: How much of it does not count.
        packet: Bytes on the wire.
        title: Its name in reports.
        aqm: Disciplines to compare.
        vary: Values along axes; each combination is a case.
        series: What to record over time beside the queue, such as ``"raqm.p"``.
        more: Other entries of the file.

    Raises:
        ScenarioError: Something is wrong with it; the line is that of ``to_toml()``'s text.
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
) -> Scenario:
    """Reads a scenario and changes it, as ``--aqm``, ``--set`` and ``--vary`` do.

    Args:
        scenario: A path, or a scenario.
        aqm: Disciplines in place of those that the file compares; classes of one's own count under their name.
        set: Values by path, such as ``{"flows.ftp.count": 40}``.
        vary: Values along axes by path; each combination is a case.
    """
    found = scenario if isinstance(scenario, Scenario) else Scenario.load(fspath(scenario))
    one = isinstance(aqm, (str, type)) or isinstance(aqm, Discipline)
    disciplines = [aqm] if one else list(aqm or ())
    if not (disciplines or set or vary):
        return found
    return found.changed(
        [f"{path}={_toml.value(value)}" for path, value in (set or {}).items()],
        [f"{path}={','.join(_words(path, values))}" for path, values in (vary or {}).items()],
        [words_of(one) for one in disciplines],
    )


def _words(path: str, values: Any) -> list[str]:
    """Values of an axis as the command line has them."""
    values = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"vary: {path} takes a list of values, not {values!r}")
    words = [value if isinstance(value, str) else _toml.value(value) for value in values]
    if not words:
        raise ValueError(f"vary: {path} has no value")
    odd = [word for word in words if "," in word or ".." in word]
    if odd:
        raise ValueError(f"vary: {odd[0]!r} cannot be a value of {path} here; put it into [vary] of the scenario")
    return words
