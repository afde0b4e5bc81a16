"""What the environments have in common: simulations of one scenario, stepped together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy
from gymnasium.vector import AutoresetMode, VectorEnv

from forebay import _native

Array = numpy.ndarray[Any, numpy.dtype[numpy.float64]]
Reward = Callable[[Mapping[str, Array]], Array]
"""Maps the observations of a step, arrays with a value per agent by name, to a reward for each agent."""


class Simulations(VectorEnv[Any, Any, Any]):
    """Simulations that are stepped together; a row for each agent. An episode is truncated at the scenario's duration. The
    next step starts a new episode, with a seed derived from that of ``reset``."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012
    _native: _native.Env | _native.SenderEnv

    def _names(self, observation: Sequence[str], observable: Sequence[str]) -> list[str]:
        """All quantities to observe: those of the observation, then those that only the reward uses."""
        self._observation = list(observation)
        self._rewarded = [name for name in observable if name not in self._observation]
        return self._observation + self._rewarded

    def _spaces(self, native: Any, action: gymnasium.spaces.Box, observation: gymnasium.spaces.Box) -> None:
        self._native = native
        self.single_action_space, self.single_observation_space = action, observation

    def _begins(self, simulations: int, agents: int, reward: Reward) -> None:
        self._simulations, self._agents, self._reward = simulations, agents, reward
        self.num_envs = simulations * agents
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, self.num_envs)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self._ended = numpy.zeros(self.num_envs, dtype=bool)
        self._seeds: list[numpy.random.Generator] = []

    def _seen(self, rows: Array) -> Array:
        return rows[:, : len(self._observation)].copy()

    def _by_name(self, rows: Array) -> dict[str, Array]:
        return {name: rows[:, i] for i, name in enumerate(self._observation + self._rewarded)}

    def _info(self, seen: Mapping[str, Array]) -> dict[str, Any]:
        """What a step returns besides observation and reward; empty by default."""
        return {}

    def _values(self, actions: Array) -> Array:
        """The actions as the simulations take them."""
        return actions

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Restarts all simulations; the same seed gives the same simulations. A single number is the seed of the first;
        the others count up from it, as in Gymnasium's vector environments. Later episodes derive their own seeds. A list
        has one seed for each simulation."""
        super().reset(seed=None if isinstance(seed, list) else seed)
        count = self._simulations
        given = seed if isinstance(seed, list) else [None if seed is None else seed + i for i in range(count)]
        if len(given) != count:
            raise ValueError(f"{len(given)} seeds for {count} simulations")
        seeds = [int(self.np_random.integers(0, 2**53)) if one is None else int(one) for one in given]
        self._seeds = [numpy.random.default_rng(one) for one in seeds]
        self._ended[:] = False
        rows = self._native.reset(list(range(count)), seeds)
        return self._seen(rows), self._info(self._by_name(rows))

    def step(self, actions: Any) -> tuple[Array, Array, Any, Any, dict[str, Any]]:
        """Steps all simulations: observations, rewards, terminations (always false), truncations, info."""
        given = numpy.asarray(actions, dtype=numpy.float64).reshape(self.num_envs, -1)
        space: Any = self.single_action_space
        given = self._values(numpy.clip(given, space.low, space.high))
        begun = self._ended
        rows, ended = self._native.step(numpy.ascontiguousarray(given))
        seen = self._by_name(rows)
        rewards = numpy.asarray(self._reward(seen), dtype=numpy.float64)
        if begun.any():
            # Gymnasium's next-step reset: ended simulations restart, and their actions are ignored.
            which = [int(at) for at in numpy.flatnonzero(begun[:: self._agents])]
            rows = self._native.reset(which, [int(self._seeds[at].integers(0, 2**53)) for at in which])
            rewards, ended, seen = numpy.where(begun, 0.0, rewards), ended & ~begun, self._by_name(rows)
        self._ended = ended
        return self._seen(rows), rewards, numpy.zeros(self.num_envs, dtype=bool), ended.copy(), self._info(seen)


class Single(gymnasium.Env[Any, Any]):
    """The only row of `Simulations`."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, every: Simulations) -> None:
        self._all = every
        self.observation_space = every.single_observation_space
        self.action_space = every.single_action_space
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Restarts the simulation; the same seed gives the same simulation."""
        super().reset(seed=seed)
        self._over = False
        if seed is None:
            seed = int(self.np_random.integers(0, 2**53))
        rows, info = self._all.reset(seed=[seed])
        return rows[0], _first(info)

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """A step: observation, reward, terminated (always false), truncated, info."""
        if self._over:
            raise gymnasium.error.ResetNeeded("call reset() before step(), at the start and after an episode has ended")
        rows, rewards, _, truncated, info = self._all.step(numpy.asarray(action, dtype=numpy.float64)[None])
        self._over = bool(truncated[0])
        return rows[0], float(rewards[0]), False, bool(truncated[0]), _first(info)

    def close(self) -> None:
        """Does nothing: no resources are held."""


def _first(info: Mapping[str, Any]) -> dict[str, Any]:
    """The info of the first row, without Gymnasium's masks."""
    return {name: float(values[0]) for name, values in info.items() if not name.startswith("_")}
