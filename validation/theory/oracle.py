"""Figures of SciPy and python-control for what forebay-theory works out by code of its own.

    python3 validation/theory/oracle.py > validation/theory/oracle.txt

A line is a name and its figures. `crates/theory/tests/oracle.rs` has the same cases, and says what the figures are;
`cargo xtask test` runs this again where both packages are installed.
"""

import sys

import control
import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import null_space


def say(name, *figures):
    print(name, *(f"{figure:.9e}" for figure in figures))


# --- Margins of TCP and PI (Hollot et al.), delays exact: a table of frequencies, no rational function ----------


def plant(w, capacity, flows):
    """Packets by which the queue falls per unit of p: the linear equations of all windows and the queue, solved."""
    s = 1j * w
    window = capacity / sum(n / r for n, r in flows)
    size = len(flows) + 1
    left = np.zeros((size, size), complex)
    right = np.zeros(size, complex)
    left[-1, -1] = s
    for i, (n, r) in enumerate(flows):
        late = np.exp(-s * r)
        left[i, i] = s + (1 + late) / (window * r)
        left[i, -1] = (1 - late) / (r * r * capacity)
        right[i] = -window * window / (2 * r) * late
        left[-1, i] = -n / r
        left[-1, -1] += n * window / (r * r * capacity)
    return -np.linalg.solve(left, right)[-1]


def pi(w, period=1 / 160):
    """p += a (q - ref) - b (before - ref) every period, held in between."""
    late = np.exp(-1j * w * period)
    return (1.857e-5 - 1.851e-5 * late) / (1j * w * period)


LOOPS = {
    "pi-60": (3750.0, [(60.0, 0.246)]),
    "pi-40": (3750.0, [(40.0, 0.246)]),
    "pi-200": (3750.0, [(200.0, 0.15)]),
    "pi-unequal": (3750.0, [(30.0, 0.2), (30.0, 0.35)]),
}


def margins():
    ws = np.logspace(-3, 2.5, 40_000)
    for name, (capacity, flows) in LOOPS.items():
        gain = np.array([pi(w) * plant(w, capacity, flows) for w in ws])
        table = control.frd(gain, ws, smooth=True)
        gain_margin, phase_margin, _, crossover = control.margin(table)
        say(f"margins {name}", gain_margin, phase_margin, crossover)


# --- Queues with Markov arrivals and services of phases, the whole chain at once ------------------------------


def chain(mean_s, rates, phases, per_second, limit):
    """Mean in the system and loss of MMPP(2)/Erlang/1/limit."""
    moves = np.array([[-1 / mean_s[0], 1 / mean_s[0]], [1 / mean_s[1], -1 / mean_s[1]]])
    states = [(0, 0)] + [(n, k) for n in range(1, limit + 1) for k in range(phases)]
    place = {(n, k, m): 2 * i + m for i, (n, k) in enumerate(states) for m in range(2)}
    q = np.zeros((len(place), len(place)))

    def move(a, b, rate):
        q[place[a], place[b]] += rate
        q[place[a], place[a]] -= rate

    for n, k, m in place:
        move((n, k, m), (n, k, 1 - m), moves[m, 1 - m])
        if n < limit:
            move((n, k, m), (n + 1, k, m), rates[m])
        if n > 0:
            after = (n, k + 1, m) if k + 1 < phases else (n - 1, 0, m)
            move((n, k, m), after, phases * per_second)
    share = null_space(q.T)[:, 0]
    share /= share.sum()
    mean = sum(share[at] * n for (n, _, _), at in place.items())
    offered = sum(share[at] * rates[m] for (_, _, m), at in place.items())
    lost = sum(share[at] * rates[m] for (n, _, m), at in place.items() if n == limit)
    return mean, lost / offered


def queues():
    say("queue m-m-1-10", *chain([1.0, 1.0], [0.8, 0.8], 1, 1.0, 10))
    say("queue mmpp-e2-1-20", *chain([0.5, 0.7], [260.0, 140.0], 2, 250.0, 20))
    say("queue mmpp-e4-1-60", *chain([2.0, 3.0], [500.0, 40.0], 4, 250.0, 60))


# --- Equations with a delay, from one delay to the next -------------------------------------------------------


def delayed(slope, start, delay, until):
    """The state at `until` of y' = slope(y, y(t - delay)) that rested at `start` before."""
    pieces = []

    def past(t):
        return np.array(start) if t <= 0 else pieces[min(int(t / delay), len(pieces) - 1)](t)

    state, t = np.array(start, float), 0.0
    while t < until - 1e-12:
        end = min(t + delay, until)
        found = solve_ivp(
            lambda t, y: slope(y, past(t - delay)), (t, end), state, rtol=1e-11, atol=1e-12, dense_output=True
        )
        pieces.append(found.sol)
        state, t = found.y[:, -1], end
    return state


def equations():
    say("delayed linear", *delayed(lambda y, then: [-1.5 * then[0]], [1.0], 1.0, 10.0))
    # Window and queue of 60 flows whose round trip is 0.246 s, marked by the queue.
    n, c, r = 60.0, 3750.0, 0.246

    def tcp(y, then):
        p = min(max((then[1] - 100.0) * 1e-4, 0.0), 1.0)
        return [1 / r - y[0] * then[0] / (2 * r) * p, n * y[0] / r - c]

    say("delayed tcp", *delayed(tcp, [15.0, 150.0], r, 4.92))


if __name__ == "__main__":
    print(f"# SciPy and python-control {control.__version__}, numpy {np.__version__}", file=sys.stderr)
    margins()
    queues()
    equations()
