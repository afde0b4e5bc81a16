"""Disciplines of one's own: subclass `Law` or `Aqm`, give it a ``name``, and it stands beside the built-in ones.

Annotated attributes with a default are parameters: words such as ``"my_pi gain=0.02"`` set them, in scenarios too.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from forebay import _native

__all__ = ["Actuation", "Aqm", "Law"]

KNOWN: dict[str, type[_Own]] = {}
"""By name, the last class of each."""


@dataclass(frozen=True)
class Actuation:
    """What a `Law` has done to packets until its next update; a plain probability is one too."""

    p: float
    """Probability of a signal."""
    q0_packets: float | None = None
    """If given, the probability is ``p * queue / q0_packets``."""
    mean_packet: float | None = None
    """If given, the probability is multiplied by the packet's length over this many bytes."""
    marks_at_departure: bool = False
    """ECN-capable packets are signalled when they leave."""


class _Own:
    """What both have in common."""

    name: ClassVar[str] = ""
    """How words name it; a class without a name is not registered."""
    probes: ClassVar[Sequence[str]] = ()
    """Attributes that can be recorded over time, as ``NAME.PROBE`` in a scenario's ``report.series``."""
    _rung: ClassVar[str]
    _summary: ClassVar[str]
    _kinds: ClassVar[dict[str, type]]
    _values: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._values, cls._kinds = {}, {}
        for base in reversed(cls.__mro__):
            if not issubclass(base, _Own) or base.__module__ == __name__:
                continue
            for name, hint in inspect.get_annotations(base).items():
                if "ClassVar" not in str(hint) and name in base.__dict__ and not name.startswith("_"):
                    cls._values[name] = base.__dict__[name]
                    cls._kinds[name] = type(base.__dict__[name])
        cls._summary = (inspect.cleandoc(cls.__doc__) if cls.__doc__ else cls.__name__).splitlines()[0]
        if cls.name:
            _native.register(cls)
            KNOWN[cls.name] = cls

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return dict(cls._values)

    @classmethod
    def _read(cls, name: str, text: str) -> Any:
        """A parameter as its default's type; the error says what is accepted."""
        kind = cls._kinds[name]
        if kind is bool:
            if text in {"on", "true", "yes", "1"}:
                return True
            if text in {"off", "false", "no", "0"}:
                return False
            raise ValueError("on or off")
        if kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                raise ValueError("a whole number" if kind is int else "a number") from None
        return text

    @classmethod
    def _write(cls, values: Mapping[str, Any]) -> str:
        def word(value: Any) -> str:
            return ("on" if value else "off") if isinstance(value, bool) else str(value)

        return "".join(f" {name}={word(value)}" for name, value in values.items())

    @classmethod
    def _make(cls, values: Mapping[str, Any]) -> _Own:
        made = cls()
        for name, value in values.items():
            setattr(made, name, value)
        return made

    def _defines(self, methods: Sequence[str]) -> list[bool]:
        return [getattr(type(self), method) is not getattr(Aqm, method) for method in methods]

    def start(self, rate_bps: float, limit_packets: float, mean_packet: int) -> None:
        """It stands in front of a link from now on: set up what it remembers.

        Args:
            rate_bps: Capacity in bits per second.
            limit_packets: Buffer, in packets of mean size where it is in bytes.
            mean_packet: Bytes of a typical packet.
        """


class Law(_Own):
    """A control law: it sees counters once a period, never a packet.

    Example:
        >>> class MyPi(forebay.Law):
        ...     name = "my_pi"
        ...     period = "6ms"
        ...     probes = ("p",)
        ...     gain: float = 1.8e-5
        ...     q_ref: float = 50.0
        ...     def start(self, rate_bps, limit_packets, mean_packet):
        ...         self.p = 0.0
        ...     def update(self, sample):
        ...         self.p = min(max(self.p + self.gain * (sample.backlog_packets - self.q_ref), 0.0), 1.0)
        ...         return self.p
    """

    _rung = "law"
    period: Any = "10ms"
    """Time between updates, such as ``"6ms"``, or seconds. Annotate it and it is a parameter."""

    def initial(self) -> float | Actuation:
        """What holds before the first update."""
        return 0.0

    def update(self, sample: _native.Sample) -> float | Actuation:
        """A period has passed: the probability of a signal from now on."""
        raise NotImplementedError


class Aqm(_Own):
    """A per-packet opinion: it sees every packet and holds none.

    A verdict is ``True`` or ``"signal"`` (mark if the packet is ECN-capable, else drop), ``"mark"``, ``"drop"``, and
    ``False``, ``None`` or ``"accept"``.

    Example:
        >>> class Slope(forebay.Aqm):
        ...     name = "slope"
        ...     slope: float = 0.001
        ...     def arrival(self, packet, level, cx):
        ...         return cx.uniform() < self.slope * level.packets
    """

    _rung = "aqm"
    next_tick_s: float | None = None
    """When ``tick`` is to be called next, in seconds."""

    def arrival(self, packet: _native.Packet, level: _native.Level, cx: _native.Context) -> bool | str | None:
        """Every packet that is offered, also when the buffer is full. Draw the same number of randoms each time."""

    def departure(self, packet: _native.Packet, level: _native.Level, cx: _native.Context) -> bool | str | None:
        """Every packet that is taken from the queue; ``level`` is what is left behind."""

    def settled(self, packet: _native.Packet, fate: str, cx: _native.Context) -> None:
        """What really happened: ``queued``, ``marked``, ``delivered``, ``dropped-early``, ``dropped-overflow`` or
        ``dropped-threshold``."""

    def emptied(self, cx: _native.Context) -> None:
        """Nothing waits: the link goes idle."""

    def tick(self, level: _native.Level, cx: _native.Context) -> None:
        """The time that ``next_tick_s`` asked for has come."""
