"""Progress of a call: a bar redrawn on one line, in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from typing import Any

_WIDTH = 40
_EVERY_S = 0.2


def _rough(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _shows(wanted: bool | None) -> bool:
    """Show a bar? Default: on a terminal and in a notebook."""
    if wanted is not None:
        return wanted
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")


class Bar:
    """A bar towards ``total``. Call it with the amount done to redraw it."""

    def __init__(self, total: float, wanted: bool | None) -> None:
        self._total = max(total, 1e-9)
        self._shown = _shows(wanted)
        self._begin = self._last = time.monotonic()
        self._drawn = False

    def __call__(self, done: float) -> None:
        now = time.monotonic()
        if not self._shown or now - self._last < _EVERY_S:
            return
        self._last, self._drawn = now, True
        share = min(done / self._total, 1.0)
        left = _rough((now - self._begin) * (1 / share - 1)) + " left" if share > 0 else ".."
        full = int(_WIDTH * share)
        sys.stderr.write(f"\r{'━' * full}{'╌' * (_WIDTH - full)} {share:4.0%}  {left:<12}")
        sys.stderr.flush()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._drawn:
            sys.stderr.write("\r" + " " * (_WIDTH + 22) + "\r")
            sys.stderr.flush()


class Bars:
    """One bar per batch, one after the other. Call it with the amount done and the total to redraw it."""

    def __init__(self) -> None:
        self._total, self._bar = 0.0, Bar(0.0, False)

    def __call__(self, done: float, total: float) -> None:
        if total != self._total:
            self._bar.__exit__()
            self._total, self._bar = total, Bar(total, True)
        self._bar(done)

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.__exit__()
