"""Custom congestion controls: subclass `CongestionControl` and set ``name``; scenarios then name it ``own:NAME``."""

from __future__ import annotations

import inspect
import re
from typing import Any, ClassVar, Literal

from forebay import _native
from forebay.own import KNOWN, code_of

__all__ = ["CongestionControl"]

_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


class CongestionControl:
    """A congestion control: decides on window and pacing rate of a TCP connection. One object per connection.

    Loss recovery with selective acknowledgements, retransmission timer and pacing are Forebay's. After a timeout the
    window is one packet until an acknowledgement arrives.

    Example:
        >>> class Aimd(forebay.CongestionControl):
        ...     name = "aimd"
        ...     def on_ack(self, ack):
        ...         if not ack.in_recovery:
        ...             self.cwnd += ack.delivered / self.cwnd
        ...     def on_loss(self, now_s):
        ...         self.cwnd = max(self.cwnd / 2, 2)
        >>> forebay.run("case-1.toml", set={"flows.ftp.tcp": "own:aimd"})
    """

    name: ClassVar[str] = ""
    """Name of the control. A class that does not define ``name`` itself is not registered."""
    ecn: ClassVar[Literal["on-request", "always", "never"]] = "on-request"
    """When its data is ECN-capable; ``on-request``: if the scenario has ``ecn = true``."""
    scalable: ClassVar[bool] = False
    """Is it an L4S sender? Its data then has ECT(1), and acknowledgements report each marked packet (AccECN)."""
    stack: ClassVar[Literal["rfc", "linux"]] = "rfc"
    """Rules of loss recovery and timers, if the scenario does not name them."""
    _summary: ClassVar[str]
    _code: ClassVar[str]

    cwnd: float
    """Congestion window, packets, at least 1. The scenario's initial window at first."""
    pacing_rate: float | None = None
    """Pacing rate, packets/s, at least 0.01; ``None``: packets are not paced."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._summary = (inspect.cleandoc(cls.__doc__) if cls.__doc__ else cls.__name__).splitlines()[0]
        cls._code = code_of(cls)
        if cls.__dict__.get("name"):
            cls._register()

    @classmethod
    def _register(cls) -> None:
        """Registers this class under its name."""
        if not _NAME.fullmatch(cls.name) or cls.name == "agent":
            what = "must consist of letters, digits, _ and -, and not be agent, which environments use"
            raise ValueError(f"{cls.__name__}.name {what}; it is {cls.name!r}")
        _native.register_control(cls)
        KNOWN[cls._known_as()] = cls

    @classmethod
    def _known_as(cls) -> str:
        """The name in scenarios."""
        return f"own:{cls.name}"

    def start(self) -> None:
        """Called when the connection is created, after ``cwnd`` is set: initialize the state here."""

    def on_ack(self, ack: _native.Ack) -> None:
        """Called when an acknowledgement has been processed, in recovery too. Increase ``cwnd`` here."""

    def on_loss(self, now_s: float) -> None:
        """Called at the time ``now_s`` when recovery from a loss begins, once for the losses of a window of data. By default
        halves ``cwnd``."""
        self.cwnd = max(self.cwnd / 2, 1.0)

    def on_mark(self, now_s: float) -> None:
        """Called for the first mark in a window of data; ``ack.marked`` counts all. By default as `on_loss`."""
        self.on_loss(now_s)

    def on_timeout(self, now_s: float) -> None:
        """Called when the retransmission timer expires. By default as `on_loss`."""
        self.on_loss(now_s)
