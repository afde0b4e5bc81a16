"""Environments in which agents set the windows or rates of TCP senders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy

from forebay import _native
from forebay.gym._base import Array, Reward, Simulations, Single
from forebay.scenarios import Access, Bottleneck, Dumbbell, Egress, Flows, ScenarioLike, build, read

__all__ = ["OBSERVATION", "CongestionEnv", "CongestionVectorEnv", "Utility", "path"]

OBSERVATION = (
    "throughput_bps",
    "rtt_s",
    "min_rtt_s",
    "loss_ratio",
    "mark_ratio",
    "cwnd_packets",
    "in_flight_packets",
    "pacing_rate_bps",
)
"""The default observation."""

INFO = ("link_utilisation", "link_queue_delay_s", "link_loss_ratio")
"""What the info of a step has: the state of the link that the scenario compares."""

Action = Literal["window", "rate"]

_native.register_agent()


@dataclass(frozen=True)
class Utility:
    """Reward: throughput divided by the link's rate, minus ``delay_weight`` times the queueing delay in units of
    ``target_s``, minus ``loss_weight`` times the loss ratio. Queueing delay: round-trip time minus its minimum."""

    target_s: float = 0.02
    delay_weight: float = 0.2
    loss_weight: float = 2.0

    def __call__(self, seen: Mapping[str, Array]) -> Array:
        share = seen["throughput_bps"] / numpy.maximum(seen["link_rate_bps"], 1.0)
        delay = numpy.maximum(seen["rtt_s"] - seen["min_rtt_s"], 0.0) / self.target_s
        result: Array = share - self.delay_weight * delay - self.loss_weight * seen["loss_ratio"]
        return result


def path(
    rate: str = "20mbit",
    rtt_ms: float = 40.0,
    queue: str = "1bdp",
    aqm: str = "droptail",
    agents: int = 1,
    opponents: Sequence[str] = (),
    duration_s: float = 30.0,
    ecn: bool = False,
    packet: int = 1500,
    window: int = 1000,
) -> _native.Scenario:
    """A bottleneck that agents share with other senders.

    Args:
        rate: Rate of the bottleneck.
        rtt_ms: Round-trip propagation time, ms.
        queue: Buffer: ``"1bdp"``, ``"100p"``, ``"50ms"``.
        aqm: Its discipline.
        agents: Number of agents.
        opponents: A sender for each of these: ``"cubic"``, ``"bbr"``, ``"prague"``, ``"own:NAME"``. They start in the
            first second, agents at 0.
        duration_s: Length of an episode, s.
        ecn: Are agents and opponents ECN-capable, if they can be?
        packet: Length of a packet, bytes.
        window: The receiver's window, packets: the largest window of an agent.
    """
    fast, opponents = "10gbit", list(opponents)
    # RFC 6298; with the 3 s of RFC 2988 an agent that loses its first packets would stand still for long.
    more: dict[str, Any] = {"initial_rto": "1s"}
    flows = [Flows(kind="ftp", name="agent", count=agents, tcp="own:agent", ecn=ecn, start="0s", more=more | {"window": window})]
    for name in dict.fromkeys(opponents):
        count, label = opponents.count(name), name.replace(":", "-")
        start = {"uniform": ["0s", "1s"]}
        flows.append(Flows(kind="ftp", name=label, count=count, tcp=name, ecn=ecn, start=start, more=more))
    return build(
        duration=f"{duration_s:g}s",
        warmup="0s",
        packet=packet,
        topology=Dumbbell(
            bottleneck=Bottleneck(rate=rate, delay=f"{rtt_ms / 2.0:g}ms", queue=queue, aqm=aqm),
            access=Access(hosts=1, rate=fast, delays=["0ms"]),
            egress=Egress(rate=fast, delay="0ms"),
        ),
        flows=flows,
    )


class CongestionVectorEnv(Simulations):
    """Simulations of one scenario, stepped together, in which the flows with ``tcp = "own:agent"`` are agents.

    Observations and actions have a row for each agent; those of a simulation follow each other. All observations have finite
    bounds; values beyond are clipped. A window applies from the next acknowledgement on, a rate from the next packet on, at
    most four times the rate of the slowest link on the path. Retransmissions are Forebay's;
    after a timeout the window is one packet until an acknowledgement arrives. Info: the arrays `INFO`, a value per row.

    Args:
        scenario: A scenario file's path, or a scenario, for example `path`. Its first case and first discipline are used.
        num_envs: Number of rows: a multiple of the scenario's number of agents, which is the default.
        observation: Names: ``time_s``; of the last step: ``throughput_bps`` (data delivered, headers included), ``rtt_s``
            (mean), ``loss_ratio``, ``mark_ratio``; ``min_rtt_s``, ``srtt_s``, ``cwnd_packets``, ``in_flight_packets``,
            ``pacing_rate_bps`` (0: not paced); of the compared link, by its key ``rate``: ``link_rate_bps``, ``link_queue_delay_s``,
            ``link_utilisation``, ``link_loss_ratio``.
        action: ``"window"`` or ``"rate"``: the action x, from -1 to 1, multiplies the window or the pacing rate by 2^x.
            ``{"window": (2, 200)}``: the action is the window, packets. ``{"rate": (1e5, 1e8)}``: it is the pacing rate,
            bit/s; the window is then twice the rate times the round-trip time.
        reward: Maps observations to rewards; may use all names above, observed or not. Default: `Utility`.
        step_s: Simulated time per step, s.
        aqm: A discipline that replaces the scenario's.
        set: Scenario values by path.
        jobs: Number of threads; default: one per core.
    """

    def __init__(
        self,
        scenario: ScenarioLike,
        num_envs: int | None = None,
        *,
        observation: Sequence[str] = OBSERVATION,
        action: Action | Mapping[Action, tuple[float, float]] = "window",
        reward: Reward | None = None,
        step_s: float = 0.05,
        aqm: str | None = None,
        set: Mapping[str, Any] | None = None,
        jobs: int | None = None,
    ) -> None:
        found = read(scenario, aqm=aqm, set=set)
        names = self._names(observation, _native.SenderEnv.OBSERVABLE)
        self._is_factor = isinstance(action, str)
        if isinstance(action, str):
            word, low, high = f"{action}-factor", -1.0, 1.0
        elif len(action) == 1:
            [(word, (low, high))] = action.items()
        else:
            raise ValueError("action must be 'window', 'rate', or one of them with its range")
        if not low <= high < numpy.inf or (low <= 0.0 and not self._is_factor):
            raise ValueError(f"the range of the action must be finite and above 0, not {low} to {high}")
        agents = _native.SenderEnv(found, 1, names, step_s, word, 1).agents
        rows = agents if num_envs is None else num_envs
        if rows < 1 or rows % agents:
            raise ValueError(f"num_envs must be a multiple of the {agents} agents of a simulation, not {num_envs}")
        native = _native.SenderEnv(found, rows // agents, names, step_s, word, jobs)
        bounds = numpy.array(native.bounds[: len(self._observation)]).reshape(-1, 2)
        self._spaces(
            native,
            gymnasium.spaces.Box(low, high, (1,), dtype=numpy.float64),
            gymnasium.spaces.Box(bounds[:, 0], bounds[:, 1], dtype=numpy.float64),
        )
        self._begins(rows // agents, agents, reward or Utility())

    def _values(self, actions: Array) -> Array:
        return numpy.exp2(actions) if self._is_factor else actions

    def _info(self, seen: Mapping[str, Array]) -> dict[str, Any]:
        found: dict[str, Any] = {name: seen[name].copy() for name in INFO}
        return found | {f"_{name}": numpy.ones(self.num_envs, dtype=bool) for name in INFO}


class CongestionEnv(Single):
    """A simulation with one agent: `CongestionVectorEnv` without the first dimension."""

    def __init__(self, scenario: ScenarioLike, **options: Any) -> None:
        single: dict[str, Any] = {"jobs": 1} | options
        every = CongestionVectorEnv(scenario, None, **single)
        if every.num_envs != 1:
            raise ValueError(f"{every.num_envs} agents: use CongestionVectorEnv or forebay.gym.parallel")
        super().__init__(every)
