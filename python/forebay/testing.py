"""Checks for custom disciplines and congestion controls."""

from __future__ import annotations

from typing import Any

from forebay import _native
from forebay.own import KNOWN, words_of
from forebay.senders import CongestionControl

__all__ = ["check_aqm", "check_control"]


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


def check_control(control: type[CongestionControl] | str, paths: int = 30) -> None:
    """Runs the conformance suite of the built-in congestion controls: connections over random paths with losses, marks,
    small buffers, delayed acknowledgements, and applications that pause.

    Args:
        control: A custom class, or a name such as ``"own:aimd"``.
        paths: Number of paths.

    Raises:
        AssertionError: The first rule violated: data does not arrive, more is sent than the window allows, two runs over
            the same path differ, ...
    """
    if isinstance(control, str):
        name = control
    else:
        if not control.__dict__.get("name"):
            raise ValueError(f"{control.__name__} has no name of its own, so it is not a congestion control")
        name = control._known_as()
        if KNOWN.get(name) is not control:
            control._register()
    broken = _native.control_conformance(name, paths)
    if broken:
        raise AssertionError(broken)
