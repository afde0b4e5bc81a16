"""Environments in which an agent replaces a discipline or sets its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy

from forebay import _native
from forebay.gym._base import Array, Reward, Simulations, Single
from forebay.scenarios import ScenarioLike, read

__all__ = ["OBSERVATION", "AqmControl", "AqmVectorEnv", "Power"]

OBSERVATION = ("queue_delay_s", "arrival_rate_bps", "departure_rate_bps", "p")
"""The default observation."""


@dataclass(frozen=True)
class Power:
    """Reward: utilisation minus ``weight`` times ``max(delay / target_s - 1, 0)``."""

    target_s: float = 0.02
    weight: float = 1.0

    def __call__(self, seen: Mapping[str, Array]) -> Array:
        late: Array = numpy.maximum(seen["queue_delay_s"] / self.target_s - 1.0, 0.0)
        result: Array = seen["utilisation"] - self.weight * late
        return result


class AqmVectorEnv(Simulations):
    """``num_envs`` simulations of one scenario, stepped together.

    An observation is one row per simulation, in the order of ``observation``. An action is one row per simulation: the
    signal probability, or a value for each of ``parameters``. An episode is truncated at the scenario's duration. The
    next step starts a new episode, with a seed derived from that of ``reset``.

    Args:
        scenario: A scenario file's path, or a scenario. Its first case and first discipline are used.
        num_envs: Number of simulations.
        observation: Names: ``time_s``, ``queue_packets``, ``queue_bytes``, ``queue_delay_s``, ``arrival_rate_bps``,
            ``departure_rate_bps``, ``utilisation``, ``loss_ratio``, ``mark_ratio``, ``p``, and probes of the discipline.
        action: ``"p"``: the agent replaces the discipline. Otherwise parameters of the scenario's discipline, each with
            its range: ``{"q0": (10, 100)}``.
        reward: Maps observations to rewards; may use all names above, observed or not. Default: `Power`.
        step_s: Simulated time per step, s.
        aqm: A discipline that replaces the scenario's.
        set: Scenario values by path.
        ecn: If the agent replaces the discipline: mark ECN-capable packets instead of dropping them.
        jobs: Number of threads; default: one per core.
    """

    def __init__(
        self,
        scenario: ScenarioLike,
        num_envs: int = 1,
        *,
        observation: Sequence[str] = OBSERVATION,
        action: Literal["p"] | Mapping[str, tuple[float, float]] = "p",
        reward: Reward | None = None,
        step_s: float = 0.01,
        aqm: str | None = None,
        set: Mapping[str, Any] | None = None,
        ecn: bool = False,
        jobs: int | None = None,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, not {num_envs}")
        if action != "p" and not action:
            raise ValueError("action must be 'p' or parameters with their ranges")
        found = read(scenario, aqm=aqm, set=set)
        ranges = {} if action == "p" else dict(action)
        names = self._names(observation, _native.Env.OBSERVABLE)
        low = numpy.array([low for low, _ in ranges.values()] or [0.0])
        high = numpy.array([high for _, high in ranges.values()] or [1.0])
        wide = numpy.full(len(self._observation), numpy.inf)
        self._spaces(
            _native.Env(found, num_envs, names, step_s, list(ranges), jobs, ecn),
            gymnasium.spaces.Box(low, high, dtype=numpy.float64),
            gymnasium.spaces.Box(-wide, wide, dtype=numpy.float64),
        )
        self._begins(num_envs, 1, reward or Power())


class AqmControl(Single):
    """A single simulation: `AqmVectorEnv` without the first dimension."""

    def __init__(self, scenario: ScenarioLike, **options: Any) -> None:
        single: dict[str, Any] = {"jobs": 1} | options
        super().__init__(AqmVectorEnv(scenario, 1, **single))
