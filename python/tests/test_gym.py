"""Environments: Gymnasium's checks, reproducibility from the seed, and the meaning of a step."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import numpy
import pytest

import forebay
from conftest import CASE_1

if find_spec("gymnasium"):
    import gymnasium

    from forebay.gym import CONGESTION, ID, AqmControl, AqmVectorEnv, CongestionEnv, CongestionVectorEnv, path

pytestmark = pytest.mark.skipif(find_spec("gymnasium") is None, reason="gymnasium is not installed")

TEN = {"flows.ftp.count": 10, "duration": "2s", "warmup": "0s"}


def test_environment_passes_the_checker_of_gymnasium() -> None:
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(ID, scenario=str(CASE_1), set=TEN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Observations of queues are unbounded.
        warnings.filterwarnings("ignore", message=".*(infinity|symmetric).*")
        check_env(env.unwrapped, skip_render_check=True)


def test_vectorised_environment_equals_the_single_one() -> None:
    single = AqmControl(CASE_1, set=TEN, observation=["queue_packets", "arrival_rate_bps", "p"])
    first, _ = single.reset(seed=7)
    several = AqmVectorEnv(CASE_1, 3, set=TEN, observation=["queue_packets", "arrival_rate_bps", "p"])
    rows, _ = several.reset(seed=[5, 7, 9])
    assert rows.shape == (3, 3) and (rows[1] == first).all()
    for i in range(100):
        p = 0.05 * (i % 3)
        one, reward, terminated, truncated, _ = single.step(numpy.array([p]))
        rows, rewards, _, _, _ = several.step(numpy.full((3, 1), p))
        assert (rows[1] == one).all() and rewards[1] == reward and not terminated and not truncated
        assert one[2] == p
    assert not (rows[0] == rows[1]).all(), "another seed"


def test_same_seed_gives_the_same_episode() -> None:
    def trajectory(seed: int, jobs: int) -> Any:
        env = AqmVectorEnv(CASE_1, 4, set=TEN, jobs=jobs, step_s=0.02)
        rows = [env.reset(seed=seed)[0]]
        for i in range(250):
            rows.append(env.step(numpy.full((4, 1), 0.02 * (i % 4)))[0])
        return numpy.array(rows)

    assert (trajectory(1, 1) == trajectory(1, 2)).all(), "also over the end of episodes, on any number of threads"
    assert not (trajectory(1, 1) == trajectory(2, 1)).all()


def test_episodes_end_with_the_scenario() -> None:
    env = gymnasium.make_vec(ID, num_envs=2, scenario=str(CASE_1), set=TEN, step_s=0.5, observation=["time_s"])
    env.reset(seed=1)
    times, ends = [], []
    for _ in range(6):
        rows, rewards, terminated, truncated, _ = env.step(numpy.zeros((2, 1)))
        times.append(rows[0, 0])
        ends.append(bool(truncated[0]))
        assert not terminated.any() and numpy.isfinite(rewards).all()
    assert times == [0.5, 1.0, 1.5, 2.0, 0.0, 0.5] and ends == [False, False, False, True, False, False]


def test_p_of_one_signals_all_and_zero_none() -> None:
    env = AqmVectorEnv(CASE_1, 1, set=TEN, observation=["queue_packets", "loss_ratio", "utilisation"], step_s=0.1)
    env.reset(seed=1)
    trajectory = numpy.array([env.step(numpy.zeros((1, 1)))[0][0] for _ in range(15)])
    assert trajectory[:, 0].max() > 50 and trajectory[5:, 2].max() > 0.95, "a buffer of 100 packets is filled"
    rows, *_ = env.step(numpy.ones((1, 1)))
    assert rows[0, 1] == 1.0, "every arrival is lost"


def test_agent_sets_parameters() -> None:
    options: dict[str, Any] = {"set": TEN | {"duration": "30s"}, "aqm": "pi q_ref=50", "observation": ["pi.p", "queue_packets"]}
    env = AqmVectorEnv(CASE_1, 2, action={"q_ref": (5, 80), "a": (1e-6, 1e-3)}, step_s=0.1, **options)
    env.reset(seed=[3, 3])
    actions = numpy.array([[50, 1.822e-5], [5, 1.822e-5]])
    trajectory = numpy.array([env.step(actions)[0] for _ in range(290)])
    p, queue = trajectory[100:].mean(axis=0).T
    assert p[1] > p[0] > 0 and queue[1] < queue[0] - 10, "a smaller queue is asked for"
    with pytest.raises(forebay.ScenarioError, match="q_ref"):
        AqmVectorEnv(CASE_1, 1, action={"q_reff": (1, 2)}, **options)
    with pytest.raises(forebay.ScenarioError, match=r"pi\.p"):
        AqmVectorEnv(CASE_1, 1, set=TEN, aqm="pi", action={"q_ref": (1, 2)}, observation=["raqm.p"])


def test_pi_as_agent_approximates_built_in_pi() -> None:
    """PI as an agent equals built-in PI, except for the time within a step: mean queues agree within a few packets."""
    env = AqmVectorEnv(CASE_1, 1, set=TEN | {"duration": "60s"}, observation=["queue_packets"], step_s=1 / 170)
    rows, _ = env.reset(seed=[1])
    p, before, queue = 0.0, -50.0, []
    for _ in range(170 * 59):
        error = rows[0, 0] - 50.0
        p = min(max(p + 1.822e-5 * error - 1.816e-5 * before, 0.0), 1.0)
        before = error
        rows, *_ = env.step(numpy.array([[p]]))
        queue.append(rows[0, 0])
    inside = forebay.run(
        CASE_1, aqm="pi a=1.822e-5 b=1.816e-5 w=170 q_ref=50", set=TEN | {"duration": "60s", "warmup": "20s"}
    )
    assert abs(numpy.mean(queue[170 * 20 :]) - inside.summary["queue_pkts_mean"][0]) < 8


AGENT = {"duration": "3s", "warmup": "0s"}


def test_sender_environment_passes_the_checker_of_gymnasium() -> None:
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(CONGESTION, scenario=path(rate="5mbit"), set=AGENT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)


def test_parallel_environment_passes_the_test_of_pettingzoo() -> None:
    testing = pytest.importorskip("pettingzoo.test")
    from forebay.gym.parallel import CongestionParallelEnv

    env = CongestionParallelEnv(path(rate="5mbit", agents=3, opponents=["cubic"]), set=AGENT)
    testing.parallel_api_test(env, num_cycles=200)
    assert env.agents == [] and env.possible_agents == ["agent_0", "agent_1", "agent_2"]


def test_observations_stay_within_their_bounds() -> None:
    random = numpy.random.default_rng(1)
    everything = list(forebay._native.SenderEnv.OBSERVABLE)
    actions: list[Any] = ["window", "rate", {"window": (1.0, 5000.0)}, {"rate": (1e3, 1e9)}]
    for action in actions:
        scenario = path(rate="5mbit", agents=2, opponents=["bbr", "prague"], aqm="dualpi2", ecn=True)
        env = CongestionVectorEnv(scenario, 4, observation=everything, action=action, set=AGENT)
        rows, info = env.reset(seed=1)
        seen, space = env.observation_space, env.single_action_space
        assert isinstance(seen, gymnasium.spaces.Box) and isinstance(space, gymnasium.spaces.Box)
        assert numpy.isfinite(seen.low).all() and numpy.isfinite(seen.high).all()
        for _ in range(100):
            assert seen.contains(rows)
            rows, rewards, _, _, info = env.step(random.uniform(space.low, space.high, (4, 1)))
            assert numpy.isfinite(rewards).all() and (info["link_utilisation"] <= 1.0).all()


def test_fixed_window_gives_window_per_round_trip() -> None:
    # 10 packets of 1,500 bytes per 40 ms are 3 Mbit/s of 20: there is no queue.
    env = CongestionEnv(path(rate="20mbit"), action={"window": (10, 10)}, observation=["throughput_bps", "rtt_s", "loss_ratio"])
    env.reset(seed=1)
    seen = [env.step(numpy.array([10.0]))[0] for _ in range(40)]
    throughput, rtt, loss = numpy.mean(seen[20:], axis=0)
    assert rtt == pytest.approx(0.0406, abs=0.0005) and loss == 0
    assert throughput == pytest.approx(10 * 12_000 / rtt, rel=0.02)
    env = CongestionEnv(path(rate="20mbit"), action={"rate": (4e6, 4e6)}, observation=["throughput_bps", "pacing_rate_bps"])
    env.reset(seed=1)
    seen = [env.step(numpy.array([4e6]))[0] for _ in range(40)]
    assert numpy.mean(seen[20:], axis=0) == pytest.approx([4e6, 4e6], rel=0.02)


def test_agents_and_opponents_share_the_link() -> None:
    scenario = path(rate="10mbit", agents=2, opponents=["cubic"], queue="1bdp")
    env = CongestionVectorEnv(scenario, 2, action={"window": (2, 400)}, observation=["throughput_bps"])
    env.reset(seed=3)
    # The first agent has four times the window of the second one.
    seen = [env.step([[40.0], [10.0]])[0][:, 0] for _ in range(200)]
    first, second = numpy.mean(seen[100:], axis=0)
    assert first > 2.5 * second and first + second < 9e6, "CUBIC has the rest"


def test_sender_environment_repeats_from_seed_and_pickle() -> None:
    import pickle

    def begin(jobs: int) -> Any:
        env = CongestionVectorEnv(path(rate="5mbit", agents=2, opponents=["bbr"]), 6, jobs=jobs, set=AGENT)
        env.reset(seed=5)
        return env

    random = numpy.random.default_rng(2)
    actions = random.uniform(-1, 1, (90, 6, 1))
    one, two = begin(1), begin(2)
    rows = [(one.step(action)[0], two.step(action)[0]) for action in actions[:30]]
    copied = pickle.loads(pickle.dumps(one))
    rows += [(one.step(action)[0], copied.step(action)[0]) for action in actions[30:]]
    assert all((a == b).all() for a, b in rows), "over the end of episodes too"


def test_wrong_sender_environments_are_refused() -> None:
    with pytest.raises(forebay.ScenarioError, match='at least one flow with tcp = "own:agent"'):
        CongestionVectorEnv(CASE_1)
    with pytest.raises(forebay.ScenarioError, match="unlimited data"):
        CongestionVectorEnv(CASE_1, set={"flows.ftp.tcp": "own:agent", "flows.ftp.kind": "file", "flows.ftp.size": "1000p"})
    with pytest.raises(ValueError, match="a multiple of the 2 agents"):
        CongestionVectorEnv(path(agents=2), 3)
    with pytest.raises(ValueError, match="use CongestionVectorEnv"):
        CongestionEnv(path(agents=2))
    with pytest.raises(ValueError, match="the range of the action"):
        CongestionVectorEnv(path(), action={"window": (0.0, 10.0)})
    with pytest.raises(forebay.ScenarioError, match="did you mean rtt_s"):
        CongestionVectorEnv(path(), observation=["rtt"])
    env = CongestionVectorEnv(path())
    env.reset(seed=1)
    with pytest.raises(forebay.ScenarioError, match="a finite number"):
        env.step(numpy.array([[numpy.nan]]))
