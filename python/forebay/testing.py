"""Checks for custom disciplines."""

from __future__ import annotations

from typing import Any

from forebay import _native
from forebay.own import words_of

__all__ = ["check_aqm"]


def check_aqm(discipline: Any, seeds: int = 3) -> None:
    """Runs the conformance suite of the built-in disciplines: random arrivals, departures and ticks on links that are
    slow, full, tiny, frozen or idle.

    Args:
        discipline: A custom class, or a string such as ``"my_pi gain=0.1"``.
        seeds: Number of repetitions with different packets.

    Raises:
        AssertionError: The first rule violated: a probe is not finite, a tick is requested in the past, two runs with
            the same seed differ, ...
    """
    words = words_of(discipline)
    for seed in range(1, seeds + 1):
        broken = _native.conformance(words, seed)
        if broken:
            raise AssertionError(f"{words}: {broken}")
