"""Checks for disciplines of one's own."""

from __future__ import annotations

from typing import Any

from forebay import _native
from forebay.own import words_of

__all__ = ["check_aqm"]


def check_aqm(discipline: Any, seeds: int = 3) -> None:
    """Drives a discipline through random arrivals, departures and ticks on links that are slow, full, tiny, frozen or idle:
    the conformance suite of the built-in ones.

    Args:
        discipline: A class of one's own, or words such as ``"my_pi gain=0.1"``.
        seeds: How many times, each with other packets.

    Raises:
        AssertionError: The first rule that it breaks: a probe that is not finite, a tick that asks for the past, two runs
            from one seed that differ, and so on.
    """
    words = words_of(discipline)
    for seed in range(1, seeds + 1):
        broken = _native.conformance(words, seed)
        if broken:
            raise AssertionError(f"{words}: {broken}")
