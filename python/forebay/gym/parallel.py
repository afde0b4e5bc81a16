"""The environment of several senders for PettingZoo; needs the package ``pettingzoo``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy
from pettingzoo import ParallelEnv

from forebay.gym.senders import CongestionVectorEnv
from forebay.scenarios import ScenarioLike

__all__ = ["CongestionParallelEnv"]


class CongestionParallelEnv(ParallelEnv[str, Any, Any]):
    """One simulation whose agents act at the same time. Agents: ``agent_0``, ``agent_1`` and so on, in the scenario's order.
    See `forebay.gym.CongestionVectorEnv` for ``options``."""

    metadata = {"name": "forebay_congestion_v0", "render_modes": []}  # noqa: RUF012

    def __init__(self, scenario: ScenarioLike, **options: Any) -> None:
        single: dict[str, Any] = {"jobs": 1} | options
        self._all = CongestionVectorEnv(scenario, None, **single)
        self.possible_agents = [f"agent_{i}" for i in range(self._all.num_envs)]
        self.agents: list[str] = []
        self.observation_spaces = {name: self._all.single_observation_space for name in self.possible_agents}
        self.action_spaces = {name: self._all.single_action_space for name in self.possible_agents}

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The observations of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The actions of an agent."""
        return self.action_spaces[agent]

    def _each(self, rows: Any) -> dict[str, Any]:
        return dict(zip(self.possible_agents, rows, strict=True))

    def _infos(self, info: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        names = [name for name in info if not name.startswith("_")]
        return self._each([{name: float(info[name][i]) for name in names} for i in range(len(self.possible_agents))])

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
        """Restarts the simulation; the same seed gives the same simulation."""
        self.agents = self.possible_agents[:]
        rows, info = self._all.reset(seed=seed)
        return self._each(rows), self._infos(info)

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """A step: observations, rewards, terminations (always false), truncations and infos by agent."""
        if not self.agents:
            raise gymnasium.error.ResetNeeded("call reset() before step(), at the start and after an episode has ended")
        given = numpy.array([actions[name] for name in self.agents], dtype=numpy.float64)
        rows, rewards, terminated, truncated, info = self._all.step(given)
        if truncated.any():
            self.agents = []
        each = self._each
        flags = each(terminated.tolist()), each(truncated.tolist())
        return each(rows), each(rewards.tolist()), *flags, self._infos(info)
