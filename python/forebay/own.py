"""Disciplines of one's own: subclass `Law` or `Aqm`, give it a ``name``, and it stands beside the built-in ones.

Annotated attributes with a default are parameters: words such as ``"my_pi gain=0.02"`` set them, in scenarios too.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CellType, CodeType
from typing import Any, ClassVar

from forebay import _native

__all__ = ["Actuation", "Aqm", "Law"]

KNOWN: dict[str, type[_Own]] = {}
"""By name, the last class of each."""

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORD = re.compile(r"[^\s=]+")
_KINDS = {"bool": bool, "int": int, "float": float, "str": str}
_TAKEN = {"ecn", "th", "hard_limit", "preset", "code"}
"""Words that all disciplines have."""
_OURS = {"name", "probes", "next_tick_s"}
"""Attributes that are no parameters, annotated or not."""


def _content(of: Any) -> Any:
    """What makes a piece of a class what it is, without where it lies in memory."""
    of = getattr(of, "__func__", of)
    if isinstance(of, property):
        return [_content(of.fget), _content(of.fset)]
    code = getattr(of, "__code__", of if isinstance(of, CodeType) else None)
    if code is not None:
        constants = [_content(constant) for constant in code.co_consts]
        closure = [_content(_held(cell)) for cell in getattr(of, "__closure__", None) or ()]
        defaults = repr(getattr(of, "__defaults__", None))
        return [code.co_code.hex(), constants, list(code.co_names), defaults, closure]
    if isinstance(of, (bool, int, float, str, bytes, tuple, frozenset, type(None))):
        return repr(of)
    return type(of).__qualname__


def _held(cell: CellType) -> Any:
    """What a function has from around it; nothing where that is the class that is being made."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _code(cls: type) -> str:
    """A hash of a class and of the classes that it extends: with other code its results are others."""
    kinds = [base for base in cls.__mro__ if issubclass(base, _Own) and base.__module__ != __name__]
    entries = [[name, _content(entry)] for base in kinds for name, entry in sorted(vars(base).items()) if _counts(name)]
    return hashlib.sha256(repr(entries).encode()).hexdigest()[:12]


def _counts(name: str) -> bool:
    left_out = {"__module__", "__doc__", "__qualname__", "__firstlineno__", "__static_attributes__", "__annotate__"}
    return name not in left_out and not name.startswith(("_code", "_kinds", "_summary", "_values", "__annotations"))


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
    """How words name it; a class without a name of its own is not registered."""
    probes: ClassVar[Sequence[str]] = ()
    """Attributes that can be recorded over time, as ``NAME.PROBE`` in a scenario's ``report.series``."""
    _rung: ClassVar[str]
    _summary: ClassVar[str]
    _code: ClassVar[str]
    _kinds: ClassVar[dict[str, type]]
    _values: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._values, cls._kinds = {}, {}
        for base in reversed(cls.__mro__):
            if not issubclass(base, _Own) or base.__module__ == __name__:
                continue
            for name, hint in inspect.get_annotations(base).items():
                if "ClassVar" not in str(hint) and name not in _OURS and hasattr(cls, name) and not name.startswith("_"):
                    cls._parameter(name, hint, getattr(cls, name))
        cls._summary = (inspect.cleandoc(cls.__doc__) if cls.__doc__ else cls.__name__).splitlines()[0]
        cls._code = _code(cls)
        if cls.__dict__.get("name"):
            cls._register()

    @classmethod
    def _parameter(cls, name: str, hint: Any, value: Any) -> None:
        """Makes an annotated attribute a parameter, if it can be one."""
        if name in _TAKEN:
            raise ValueError(f"{cls.__name__}.{name}: every discipline has a {name} already")
        kind = _KINDS.get(getattr(hint, "__name__", str(hint)), type(value))
        value = float(value) if kind is float and type(value) is int else value
        if not isinstance(value, (bool, int, float, str)):
            raise TypeError(f"{cls.__name__}.{name}: a parameter is a number, a word or a bool, not {type(value).__name__}")
        if isinstance(value, str) and not _WORD.fullmatch(value):
            raise ValueError(f"{cls.__name__}.{name}: a word without spaces, not {value!r}")
        cls._values[name], cls._kinds[name] = value, kind

    @classmethod
    def _register(cls) -> None:
        """Its name means this class from now on."""
        if not _NAME.fullmatch(cls.name):
            raise ValueError(f"{cls.__name__}.name: letters, digits and _, not {cls.name!r}")
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
        if not _WORD.fullmatch(text):
            raise ValueError("a word")
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


def words_of(discipline: Any) -> str:
    """What `run` and others take for a discipline, as words; a class that is given is known from now on."""
    if isinstance(discipline, str):
        return discipline
    if isinstance(discipline, _native.Discipline):
        return discipline.canonical
    if isinstance(discipline, type) and issubclass(discipline, _Own) and discipline.name:
        if KNOWN.get(discipline.name) is not discipline:
            discipline._register()
        return discipline.name
    raise TypeError(f"a discipline is words, a Discipline, or a class of one's own that has a name, not {discipline!r}")
