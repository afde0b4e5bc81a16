"""Environments for reinforcement learning: an agent replaces a discipline or sets its parameters.

``import forebay.gym`` registers ``forebay/AqmControl-v0`` for ``gymnasium.make`` and ``gymnasium.make_vec``.
`AqmVectorEnv` steps many simulations in one call on all cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy
from gymnasium.vector import AutoresetMode, VectorEnv

from forebay import _native
from forebay.scenarios import ScenarioLike, read

__all__ = ["ID", "OBSERVATION", "AqmControl", "AqmVectorEnv", "Power", "Reward"]

ID = "forebay/AqmControl-v0"

OBSERVATION = ("queue_delay_s", "arrival_rate_bps", "departure_rate_bps", "p")
"""The default observation."""

Array = numpy.ndarray[Any, numpy.dtype[numpy.float64]]
Reward = Callable[[Mapping[str, Array]], Array]
"""Maps the observations of a step, arrays of shape ``(count,)`` by name, to a reward for each simulation."""


@dataclass(frozen=True)
class Power:
    """Reward: utilisation minus ``weight`` times ``max(delay / target_s - 1, 0)``."""

    target_s: float = 0.02
    weight: float = 1.0

    def __call__(self, seen: Mapping[str, Array]) -> Array:
        late: Array = numpy.maximum(seen["queue_delay_s"] / self.target_s - 1.0, 0.0)
        result: Array = seen["utilisation"] - self.weight * late
        return result


class AqmVectorEnv(VectorEnv[Any, Any, Any]):
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

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012

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
        self.num_envs = num_envs
        self._observation = list(observation)
        self._rewarded = [name for name in _native.Env.OBSERVABLE if name not in self._observation]
        ranges = {} if action == "p" else dict(action)
        self._reward = reward or Power()
        names = self._observation + self._rewarded
        self._native = _native.Env(found, num_envs, names, step_s, list(ranges), jobs, ecn)
        low = numpy.array([low for low, _ in ranges.values()] or [0.0])
        high = numpy.array([high for _, high in ranges.values()] or [1.0])
        self.single_action_space = gymnasium.spaces.Box(low, high, dtype=numpy.float64)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        wide = numpy.full(len(self._observation), numpy.inf)
        self.single_observation_space = gymnasium.spaces.Box(-wide, wide, dtype=numpy.float64)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self._low, self._high = low, high
        self._ended = numpy.zeros(num_envs, dtype=bool)
        self._seeds: list[numpy.random.Generator] = []

    def _seen(self, rows: Array) -> Array:
        return rows[:, : len(self._observation)]

    def _begin(self, which: numpy.ndarray[Any, Any]) -> Array:
        """Restarts simulations, each with its next seed."""
        seeds = [int(self._seeds[at].integers(0, 2**53)) for at in which]
        return self._native.reset([int(at) for at in which], seeds)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Restarts all simulations; the same seed gives the same simulations. A single number is the seed of the first;
        the others count up from it, as in Gymnasium's vector environments. Later episodes derive their own seeds."""
        super().reset(seed=None if isinstance(seed, list) else seed)
        given = seed if isinstance(seed, list) else [None if seed is None else seed + i for i in range(self.num_envs)]
        if len(given) != self.num_envs:
            raise ValueError(f"{len(given)} seeds for {self.num_envs} simulations")
        seeds = [int(self.np_random.integers(0, 2**53)) if one is None else int(one) for one in given]
        self._seeds = [numpy.random.default_rng(one) for one in seeds]
        self._ended[:] = False
        return self._seen(self._native.reset(list(range(self.num_envs)), seeds)).copy(), {}

    def step(self, actions: Any) -> tuple[Array, Array, Any, Any, dict[str, Any]]:
        """Steps all simulations: observations, rewards, terminations (always false), truncations, empty info."""
        given = numpy.asarray(actions, dtype=numpy.float64).reshape(self.num_envs, -1)
        given = numpy.clip(given, self._low, self._high)
        begun = self._ended
        rows, ended = self._native.step(numpy.ascontiguousarray(given))
        columns = {name: rows[:, i] for i, name in enumerate(self._observation + self._rewarded)}
        rewards = numpy.asarray(self._reward(columns), dtype=numpy.float64)
        if begun.any():
            # Gymnasium's next-step reset: ended simulations restart, and their actions are ignored.
            rows = self._begin(numpy.flatnonzero(begun))
            rewards, ended = numpy.where(begun, 0.0, rewards), ended & ~begun
        self._ended = ended
        return self._seen(rows).copy(), rewards, numpy.zeros(self.num_envs, dtype=bool), ended.copy(), {}


class AqmControl(gymnasium.Env[Any, Any]):
    """A single simulation: `AqmVectorEnv` without the first dimension."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, scenario: ScenarioLike, **options: Any) -> None:
        single: dict[str, Any] = {"jobs": 1} | options
        self._all = AqmVectorEnv(scenario, 1, **single)
        self.observation_space = self._all.single_observation_space
        self.action_space = self._all.single_action_space
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Restarts the simulation; the same seed gives the same simulation."""
        super().reset(seed=seed)
        self._over = False
        if seed is None:
            seed = int(self.np_random.integers(0, 2**53))
        rows, info = self._all.reset(seed=[seed])
        return rows[0], info

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """A step: observation, reward, terminated (always false), truncated, empty info."""
        if self._over:
            raise gymnasium.error.ResetNeeded("call reset() before step(), at the start and after an episode has ended")
        rows, rewards, _, truncated, info = self._all.step(numpy.asarray(action, dtype=numpy.float64)[None])
        self._over = bool(truncated[0])
        return rows[0], float(rewards[0]), False, bool(truncated[0]), info

    def close(self) -> None:
        """Does nothing: no resources are held."""


gymnasium.register(ID, entry_point="forebay.gym:AqmControl", vector_entry_point="forebay.gym:AqmVectorEnv")
