"""Custom disciplines: subclass `Law` or `Aqm` and set ``name``; the class can then be used like a built-in discipline.

Annotated attributes with a default are parameters. Set them with ``"my_pi gain=0.02"``, also in scenarios.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from types import CellType, CodeType, FunctionType
from typing import Any, ClassVar

from forebay import _native

__all__ = ["Actuation", "Aqm", "Law"]

KNOWN: dict[str, Any] = {}
"""The last class registered under each name; that of a congestion control begins with ``own:``."""

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORD = re.compile(r"[^\s=]+")
_KINDS = {"bool": bool, "int": int, "float": float, "str": str}
_TAKEN = {"ecn", "th", "hard_limit", "preset", "code"}
"""Parameters that all disciplines have."""
_OURS = {"name", "probes", "next_tick_s"}
"""Attributes that are never parameters."""


def _content(of: Any, seen: frozenset[int] = frozenset()) -> Any:
    """A representation of a class member, or of a value that it uses, that does not depend on memory addresses or on the
    process. Of an object that is none of these: its type."""
    of = getattr(of, "__func__", of)
    if id(of) in seen:
        return None
    seen = seen | {id(of)}
    if isinstance(of, property):
        return [_content(of.fget, seen), _content(of.fset, seen)]
    if isinstance(of, FunctionType):
        known = [(name, of.__globals__[name]) for name in _names(of.__code__) if name in of.__globals__]
        used = [[name, _content(value, seen)] for name, value in known]
        closure = [_content(_held(cell), seen) for cell in of.__closure__ or ()]
        return [_content(of.__code__, seen), _content([of.__defaults__, of.__kwdefaults__], seen), closure, used]
    if isinstance(of, CodeType):
        return [of.co_code.hex(), [_content(constant, seen) for constant in of.co_consts], list(of.co_names)]
    if isinstance(of, (list, tuple)):
        return [type(of).__name__, *(_content(item, seen) for item in of)]
    if isinstance(of, (set, frozenset)):
        return [type(of).__name__, *sorted(repr(_content(item, seen)) for item in of)]
    if isinstance(of, Mapping):
        return [type(of).__name__, *sorted([repr(key), repr(_content(value, seen))] for key, value in of.items())]
    if isinstance(of, (bool, int, float, str, bytes, type(None))):
        return repr(of)
    # An array of numpy, which is not imported here: it would make the import of the package slower.
    if hasattr(of, "dtype") and hasattr(of, "tobytes") and str(of.dtype) != "object":
        return [str(of.dtype), getattr(of, "shape", None), hashlib.sha256(of.tobytes()).hexdigest()]
    if is_dataclass(of) and not isinstance(of, type):
        return [type(of).__qualname__, _content(vars(of), seen)]
    return of.__qualname__ if isinstance(of, type) else type(of).__qualname__


def _names(code: CodeType) -> list[str]:
    """The names that a function uses, with those of functions within it."""
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant)]
    return [*code.co_names, *inner]


def _held(cell: CellType) -> Any:
    """The value of a closure cell; None while it refers to the class under construction."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def code_of(cls: type) -> str:
    """Hash of the code of a class and its bases, and of the functions and constants that it uses: results of other code must
    not be reused. What imported modules do is not included."""
    kinds = [base for base in cls.__mro__ if base.__module__.split(".")[0] not in ("forebay", "builtins", "typing")]
    entries = [[name, _content(entry)] for base in kinds for name, entry in sorted(vars(base).items()) if _counts(name)]
    return hashlib.sha256(repr(entries).encode()).hexdigest()[:12]


def _counts(name: str) -> bool:
    python = {"__module__", "__doc__", "__qualname__", "__firstlineno__", "__static_attributes__", "__dict__", "__weakref__"}
    ours = {"_code", "_types", "_summary", "_values", "__abstractmethods__", "_abc_impl", "__parameters__", "__orig_bases__"}
    return name not in python | ours and not name.startswith("__annotat")


@dataclass(frozen=True)
class Actuation:
    """What a `Law` applies to packets until its next update. A plain probability can be returned instead."""

    p: float
    """Signal probability."""
    q0_packets: float | None = None
    """If given, the probability is ``p * queue / q0_packets``."""
    mean_packet: float | None = None
    """If given, the probability is multiplied by the packet's length divided by this many bytes."""
    marks_at_departure: bool = False
    """Signal ECN-capable packets at departure instead of arrival?"""


class _Own:
    """Common base of `Law` and `Aqm`."""

    name: ClassVar[str] = ""
    """Name of the discipline. A class that does not define ``name`` itself is not registered."""
    probes: ClassVar[Sequence[str]] = ()
    """Attributes that can be recorded over time, as ``NAME.PROBE`` in a scenario's ``report.series``."""
    _trait: ClassVar[str]
    _summary: ClassVar[str]
    _code: ClassVar[str]
    _types: ClassVar[dict[str, type]]
    _values: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._values, cls._types = {}, {}
        for base in reversed(cls.__mro__):
            if not issubclass(base, _Own) or base.__module__ == __name__:
                continue
            for name, hint in inspect.get_annotations(base).items():
                if "ClassVar" not in str(hint) and name not in _OURS and hasattr(cls, name) and not name.startswith("_"):
                    cls._parameter(name, hint, getattr(cls, name))
        cls._summary = (inspect.cleandoc(cls.__doc__) if cls.__doc__ else cls.__name__).splitlines()[0]
        cls._code = code_of(cls)
        if cls.__dict__.get("name"):
            cls._register()

    @classmethod
    def _parameter(cls, name: str, hint: Any, value: Any) -> None:
        """Makes an annotated attribute a parameter, if it can be one."""
        if name in _TAKEN:
            raise ValueError(f"{cls.__name__}.{name}: reserved: every discipline has a parameter {name}")
        kind = _KINDS.get(getattr(hint, "__name__", str(hint)), type(value))
        value = float(value) if kind is float and type(value) is int else value
        if not isinstance(value, (bool, int, float, str)):
            raise TypeError(f"{cls.__name__}.{name}: a parameter is a number, str or bool, not {type(value).__name__}")
        if isinstance(value, str) and not _WORD.fullmatch(value):
            raise ValueError(f"{cls.__name__}.{name}: a string without spaces or =, not {value!r}")
        cls._values[name], cls._types[name] = value, kind

    @classmethod
    def _register(cls) -> None:
        """Registers this class under its name."""
        if not _NAME.fullmatch(cls.name):
            raise ValueError(f"{cls.__name__}.name must consist of letters, digits and _, not {cls.name!r}")
        _native.register(cls)
        KNOWN[cls.name] = cls

    @classmethod
    def _known_as(cls) -> str:
        """The name in scenarios."""
        return cls.name

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return dict(cls._values)

    @classmethod
    def _read(cls, name: str, text: str) -> Any:
        """Converts a value to the type of the parameter's default; the error states what is accepted."""
        kind = cls._types[name]
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
        """Called when the discipline is placed in front of a link: initialize the state here.

        Args:
            rate_bps: Link rate, bit/s.
            limit_packets: Buffer, packets; a buffer in bytes is divided by the mean packet size.
            mean_packet: Typical packet size, bytes.
        """


class Law(_Own):
    """A control law: called once per period with counters; it does not see packets.

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

    _trait = "law"
    period: Any = "10ms"
    """Interval between updates: ``"6ms"``, or a number of seconds. If annotated, it is a parameter."""

    def initial(self) -> float | Actuation:
        """Returns the signal probability before the first update."""
        return 0.0

    def update(self, sample: _native.Sample) -> float | Actuation:
        """Called after each period; returns the new signal probability."""
        raise NotImplementedError


class Aqm(_Own):
    """A per-packet AQM: decides on each packet at arrival or departure; it does not own the queue.

    Verdicts: ``True`` or ``"signal"`` (mark if ECN-capable, else drop); ``"mark"``; ``"drop"``; ``False``, ``None`` or
    ``"accept"``.

    Example:
        >>> class Slope(forebay.Aqm):
        ...     name = "slope"
        ...     slope: float = 0.001
        ...     def arrival(self, packet, level, cx):
        ...         return cx.uniform() < self.slope * level.packets
    """

    _trait = "aqm"
    next_tick_s: float | None = None
    """Time of the next call of ``tick``, s."""

    def arrival(self, packet: _native.Packet, level: _native.Level, cx: _native.Context) -> bool | str | None:
        """Called for every offered packet, also if the buffer is full. Draw equally many random numbers each time."""

    def departure(self, packet: _native.Packet, level: _native.Level, cx: _native.Context) -> bool | str | None:
        """Called for every packet taken from the queue; ``level`` is the queue without it."""

    def settled(self, packet: _native.Packet, fate: str, cx: _native.Context) -> None:
        """Called with a packet's fate: ``queued``, ``marked``, ``delivered``, ``dropped-early``, ``dropped-overflow``
        or ``dropped-threshold``."""

    def emptied(self, cx: _native.Context) -> None:
        """Called when the queue is empty and the link becomes idle."""

    def tick(self, level: _native.Level, cx: _native.Context) -> None:
        """Called at the time ``next_tick_s``."""


def words_of(discipline: Any) -> str:
    """The discipline string of any value that `run` accepts as a discipline. Registers a class if needed."""
    if isinstance(discipline, str):
        return discipline
    if isinstance(discipline, _native.Discipline):
        return discipline.canonical
    if isinstance(discipline, type) and issubclass(discipline, _Own) and discipline.name:
        if KNOWN.get(discipline.name) is not discipline:
            discipline._register()
        return discipline.name
    raise TypeError(f"a discipline is a string, a Discipline, or a custom class with a name, not {discipline!r}")
