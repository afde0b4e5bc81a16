"""Learns a congestion control: a policy of five weights, by the cross-entropy method, on four paths.

Run: python examples/learn_a_sender.py [--plot curve.svg]. Needs gymnasium (and matplotlib) and ten seconds. The output is
deterministic. It also prints the reward of NewReno, CUBIC and BBR on the same paths.
"""

import argparse

import numpy

import forebay
from forebay.gym import CongestionVectorEnv, Utility, path

PATHS = [("5mbit", 20.0), ("5mbit", 80.0), ("20mbit", 20.0), ("20mbit", 80.0)]
SEEN = ["throughput_bps", "rtt_s", "min_rtt_s", "loss_ratio", "cwnd_packets"]
REWARD = Utility(target_s=0.02, delay_weight=0.2, loss_weight=2.0)
STEP_S, SECONDS, PACKET_BITS = 0.05, 10.0, 12_000
CANDIDATES, ELITE, ROUNDS = 32, 8, 15


def features(seen, before):
    """A constant; the queueing delay in targets; the loss ratio; throughput times smallest round trip over the window, as a
    power of 2; the change of the throughput."""
    throughput, rtt, least, loss, cwnd = seen.T
    delay = numpy.minimum((rtt - least) / REWARD.target_s, 5.0)
    product = numpy.log2(numpy.maximum(throughput * least / PACKET_BITS, 0.5) / numpy.maximum(cwnd, 1.0))
    growth = numpy.clip(throughput / numpy.maximum(before, 1.0) - 1.0, -1.0, 1.0)
    return numpy.stack([numpy.ones_like(delay), delay, loss, numpy.clip(product, -3.0, 3.0), growth], axis=1)


def episodes(weights, seed):
    """Mean reward of each row of weights over the paths. The action is the exponent of the window's factor."""
    total = numpy.zeros(len(weights))
    for rate, rtt_ms in PATHS:
        scenario = path(rate=rate, rtt_ms=rtt_ms, queue="2bdp", duration_s=SECONDS)
        env = CongestionVectorEnv(scenario, len(weights), observation=SEEN, reward=REWARD, step_s=STEP_S)
        seen, _ = env.reset(seed=[seed] * len(weights))
        before = seen[:, 0]
        for _ in range(round(SECONDS / STEP_S)):
            action = (weights * features(seen, before)).sum(axis=1)
            before = seen[:, 0]
            seen, rewards, *_ = env.step(action[:, None])
            total += rewards
    return total / len(PATHS) / round(SECONDS / STEP_S)


def baseline(tcp, seed):
    """The same reward of a sender that Forebay has, from the means of a run: it is linear in them."""
    total = 0.0
    for rate, rtt_ms in PATHS:
        scenario = path(rate=rate, rtt_ms=rtt_ms, queue="2bdp", duration_s=SECONDS)
        run = forebay.run(scenario, set={"flows.agent.tcp": tcp}, seeds=[seed], progress=False).runs[0]
        delay = run["sojourn_ms"]["mean"] / 1000.0 / REWARD.target_s
        total += run["utilisation"] - REWARD.delay_weight * delay - REWARD.loss_weight * run["loss_ratio"]
    return total / len(PATHS)


def draw(file, rounds, against):
    """The learning curve: rewards of the candidates by round, and those of the other senders."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "forebay"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.0, 3.6), layout="constrained")
    numbers = numpy.arange(1, len(rounds) + 1)
    low, middle, high = numpy.percentile(rounds, [25, 50, 75], axis=1)
    axes.fill_between(numbers, low, high, alpha=0.25, linewidth=0, label="candidates: middle half")
    axes.plot(numbers, middle, label="candidates: median")
    axes.plot(numbers, numpy.max(rounds, axis=1), label="candidates: best")
    for (name, value), style in zip(against.items(), ["--", "-.", ":"]):
        axes.axhline(value, color="black", linestyle=style, linewidth=1, label=name)
    axes.set(xlabel="round", ylabel="reward", ylim=(min(low.min(), *against.values()) - 0.1, 1.0))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(fontsize="small", ncols=2, loc="lower right")
    figure.savefig(file, metadata={"Date": None} if file.endswith(".svg") else None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    random = numpy.random.default_rng(1)
    mean, spread = numpy.zeros(5), numpy.full(5, 0.5)
    rounds = []
    for number in range(given.rounds):
        weights = mean + spread * random.standard_normal((CANDIDATES, 5))
        rewards = episodes(weights, seed=100 + number)
        best = weights[numpy.argsort(rewards)[-ELITE:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.02
        rounds.append(rewards)
        print(f"round {number + 1:2}: median {numpy.median(rewards):7.3f}, best {rewards.max():7.3f}")
    # Seeds that were not used for learning.
    learnt = float(numpy.mean([episodes(mean[None], seed)[0] for seed in (1, 2)]))
    against = {name: baseline(name, 1) for name in ("newreno", "cubic", "bbr")}
    print("weights", " ".join(f"{weight:.3f}" for weight in mean))
    for name, value in {"policy": learnt, **against}.items():
        print(f"{name:8}{value:7.3f}")
    best = max(against, key=against.get)
    verdict = "beats" if learnt > against[best] else "does not beat"
    print(f"the policy {verdict} {best}, the best of the others, by {learnt - against[best]:.3f}")
    if given.plot:
        draw(given.plot, rounds, against)


if __name__ == "__main__":
    main()
