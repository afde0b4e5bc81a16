"""Learns an AQM: a policy of four weights, by the cross-entropy method, against PI of ns-2 on case 1 of RAQM.

Run: python examples/learn_an_aqm.py. Needs gymnasium and half a minute. The output is deterministic.
"""

from pathlib import Path

import numpy

from forebay.gym import AqmVectorEnv

CASE = Path(__file__).parents[1] / "papers" / "raqm" / "case-1.toml"
SET = {"flows.ftp.count": 40, "duration": "30s", "warmup": "0s"}
SEEN = ["queue_delay_s", "arrival_rate_bps", "departure_rate_bps"]
TARGET_S, RATE_BPS, STEP_S = 0.02, 10e6, 0.05
STEPS = 600
CANDIDATES, ELITE, ROUNDS = 24, 6, 8


def reward(seen):
    """Utilisation minus half the delay error in targets. Target: 20 ms = 50 packets of 500 bytes, PI's reference."""
    return seen["utilisation"] - 0.5 * numpy.abs(seen["queue_delay_s"] / TARGET_S - 1.0)


def episode(weights, seed):
    """Mean reward per row of weights. p changes with the delay error, its difference, and the excess arrival rate."""
    env = AqmVectorEnv(CASE, len(weights), observation=SEEN, reward=reward, step_s=STEP_S, set=SET)
    seen, _ = env.reset(seed=[seed] * len(weights))
    p, before, total = numpy.full(len(weights), 0.02), numpy.zeros(len(weights)), 0.0
    for _ in range(STEPS):
        error = seen[:, 0] / TARGET_S - 1.0
        excess = (seen[:, 1] - seen[:, 2]) / RATE_BPS
        step = numpy.stack([error, error - before, excess, numpy.abs(error) * error], axis=1)
        p = numpy.clip(p + 0.01 * (weights * step).sum(axis=1), 0.0, 1.0)
        before = error
        seen, rewards, *_ = env.step(p[:, None])
        total = total + rewards
    return total / STEPS


def pi(seed):
    """The same reward with PI; the action only repeats PI's reference."""
    options = {"observation": SEEN, "reward": reward, "step_s": STEP_S, "set": SET}
    env = AqmVectorEnv(CASE, 1, aqm="pi preset=ns2 q_ref=50", action={"q_ref": (50, 50)}, **options)
    env.reset(seed=[seed])
    return float(numpy.mean([env.step(numpy.full((1, 1), 50.0))[1] for _ in range(STEPS)]))


def main():
    random = numpy.random.default_rng(1)
    mean, spread = numpy.zeros(4), numpy.full(4, 0.5)
    for number in range(ROUNDS):
        weights = mean + spread * random.standard_normal((CANDIDATES, 4))
        rewards = episode(weights, seed=100 + number)
        best = weights[numpy.argsort(rewards)[-ELITE:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.02
        print(f"round {number + 1}: best {rewards.max():.4f}, mean of the elite {numpy.sort(rewards)[-ELITE:].mean():.4f}")
    # Seeds that were not used for learning.
    seeds = range(1, 6)
    learnt = [float(episode(mean[None], seed)[0]) for seed in seeds]
    against = [pi(seed) for seed in seeds]
    print("weights", " ".join(f"{weight:.3f}" for weight in mean))
    print("policy ", " ".join(f"{value:.4f}" for value in learnt))
    print("PI     ", " ".join(f"{value:.4f}" for value in against))
    wins = sum(ours > theirs for ours, theirs in zip(learnt, against))
    verdict = "the policy beats PI" if wins == len(learnt) else "the policy does not beat PI"
    print(f"{verdict}: {wins} of {len(learnt)} seeds, by {numpy.mean(learnt) - numpy.mean(against):.4f}")


if __name__ == "__main__":
    main()
