"""Progress of a call: one bar, in terminals and notebooks. tqdm draws it if it is installed."""

from __future__ import annotations

import sys
import time
import warnings
from importlib import import_module
from typing import Any, Protocol

_WIDTH = 40
_EVERY_S = 0.2
"""Time between two drawings, and before the first one: a shorter call shows nothing."""
_FORMAT = "{l_bar}{bar}| {elapsed}<{remaining}"
"""For tqdm: not the amount, which is in simulated seconds."""


def _rough(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _in_notebook() -> bool:
    return type(sys.stderr).__module__.startswith("ipykernel")


def shows(wanted: bool | None) -> bool:
    """Show a bar? Default: on a terminal and in a notebook."""
    return sys.stderr.isatty() or _in_notebook() if wanted is None else wanted


class _Drawn(Protocol):
    """A bar on a screen."""

    def to(self, done: float) -> None:
        """Moves the bar to the amount done."""

    def again(self, total: float) -> None:
        """Begins again, towards another total."""

    def close(self, complete: bool) -> None:
        """Ends the bar; ``complete``: without an exception."""


class _Text:
    """A bar redrawn on one line of stderr, and erased at the end."""

    def __init__(self, total: float) -> None:
        self._start(total)

    def _start(self, total: float) -> None:
        self._total = total
        self._begin = self._last = time.monotonic()
        self._drawn = False

    def to(self, done: float) -> None:
        now = time.monotonic()
        if now - self._last < _EVERY_S:
            return
        self._last, self._drawn = now, True
        share = min(done / self._total, 1.0)
        left = _rough((now - self._begin) * (1 / share - 1)) + " left" if share > 0 else ".."
        full = int(_WIDTH * share)
        sys.stderr.write(f"\r{'━' * full}{'╌' * (_WIDTH - full)} {share:4.0%}  {left:<12}")
        sys.stderr.flush()

    def again(self, total: float) -> None:
        self.close(True)
        self._start(total)

    def close(self, complete: bool) -> None:
        if self._drawn:
            sys.stderr.write("\r" + " " * (_WIDTH + 22) + "\r")
            sys.stderr.flush()


class _Cell:
    """A place in the output of a notebook's cell, and a file for text bars. A saved notebook has the last content only,
    so it has no bar after `clear`."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, what: object, raw: bool = False) -> None:
        """Replaces the content. ``raw``: by text of given kinds, not by an object."""
        if self._handle is None:
            self._handle = import_module("IPython.display").display(what, raw=raw, display_id=True)
        else:
            self._handle.update(what, raw=raw)

    def write(self, text: str) -> None:
        line = text.strip("\r\n")
        if line.strip():
            self.show({"text/plain": line}, raw=True)

    def flush(self) -> None:
        """Does nothing: `write` shows the text."""

    def clear(self) -> None:
        """Removes the content."""
        if self._handle is not None:
            self.show({"text/plain": ""}, raw=True)


class _Tqdm:
    """A bar of tqdm: a widget or text, as ``tqdm.auto`` chooses. A notebook does not keep it. A terminal does, at
    100 %, unless it is within a bar of the caller."""

    def __init__(self, kind: Any, total: float, delay_s: float) -> None:
        # tqdm's monitor is a thread, which an executor that forks must not have. With ``miniters`` it has no task.
        quiet = type("tqdm", (kind,), {"monitor_interval": 0})
        self._cell = _Cell() if _in_notebook() else None
        self._waits = self._cell is not None and any(base.__module__ == "tqdm.notebook" for base in kind.__mro__)
        """Is it a widget that is not yet shown?"""
        self._total, self._shown_at = total, time.monotonic() + delay_s
        options: dict[str, Any] = {"leave": None, "delay": delay_s}
        if self._waits:
            options = {"leave": False, "display": False}
        elif self._cell is not None:
            options = {"leave": False, "delay": delay_s, "file": self._cell}
        self._bar: Any = quiet(
            total=total, mininterval=_EVERY_S, miniters=0, dynamic_ncols=True, bar_format=_FORMAT, **options
        )

    def to(self, done: float) -> None:
        # The last part of a sweep counts from 0 again.
        self._bar.update(max(min(done, self._total) - self._bar.n, 0.0))
        if self._cell is not None and self._waits and time.monotonic() >= self._shown_at:
            self._waits = False
            self._cell.show(self._bar.container)

    def again(self, total: float) -> None:
        self._total = total
        self._bar.reset(total)

    def close(self, complete: bool) -> None:
        if complete:
            # Runs that a directory already holds are not counted.
            self._bar.n = self._total
        self._bar.close()
        if self._cell is not None:
            self._cell.clear()


def _drawn(total: float, delay_s: float) -> _Drawn:
    """A bar of tqdm, or text if tqdm is not installed."""
    try:
        with warnings.catch_warnings():
            # In a notebook without ipywidgets, tqdm warns and draws text.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return _Text(total)
    return _Tqdm(tqdm, total, delay_s)


class Bar:
    """A bar towards ``total``. Call it with the amount done. Leave its ``with`` block to close it."""

    def __init__(self, total: float, wanted: bool | None) -> None:
        """Begins a bar.

        Args:
            total: The amount at 100 %.
            wanted: Show it? None: on a terminal and in a notebook.
        """
        self._bar = _drawn(max(total, 1e-9), _EVERY_S) if shows(wanted) else None

    def __call__(self, done: float) -> None:
        if self._bar is not None:
            self._bar.to(done)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar is not None:
            self._bar.close(kind is None)


class Bars:
    """One bar for several batches: it begins again with each. Call it with the amount done and the batch's total."""

    def __init__(self) -> None:
        self._total = 0.0
        self._bar: _Drawn | None = None

    def __call__(self, done: float, total: float) -> None:
        if total <= 0:
            return
        if self._bar is None:
            self._bar = _drawn(total, 0.0)
        elif total != self._total:
            self._bar.again(total)
        self._total = total
        self._bar.to(done)

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar is not None:
            self._bar.close(kind is None)
