"""Proofs about arithmetic of Forebay with the solver z3, and the comparison of the models with the code.

Reads vectors from stdin, one a line: the name of a model, the inputs, and what the code returned. Prints one line per
proof (`proved NAME`), planted fault (`found NAME`) and model (`agrees NAME`, with the number of vectors). Anything else is
a failure, and the exit code is 1.

A model is one function. The proof calls it with z3's terms, the comparison with numbers.
"""

import math
import struct
import sys

import z3

# Milliseconds for one proof.
LIMIT = 20_000
failures = 0


def tell(is_right: bool, right: str, wrong: str) -> None:
    global failures
    failures += not is_right
    print(right if is_right else wrong, flush=True)


def counterexample(assumed: list, claim):
    """A model in which the assumptions hold and the claim does not; None: there is none."""
    solver = z3.Solver()
    solver.set("timeout", LIMIT)
    solver.add(*assumed, z3.Not(claim))
    result = solver.check()
    if result == z3.unknown:
        return solver.reason_unknown()
    return solver.model() if result == z3.sat else None


def prove(name: str, assumed: list, claim) -> None:
    found = counterexample(assumed, claim)
    tell(found is None, f"proved {name}", f"REFUTED {name}: {found}")


def planted(name: str, assumed: list, claim) -> None:
    """A deliberately wrong claim, which must have a counterexample."""
    found = counterexample(assumed, claim)
    tell(isinstance(found, z3.ModelRef), f"found {name}", f"MISSED {name}: {found}")


def choose(condition, yes, no):
    return z3.If(condition, yes, no) if z3.is_expr(condition) else (yes if condition else no)


# --- The token bucket: crates/aqm/src/parts/token_bucket.rs. Tokens are bit/s times ns.

TOKENS_OF_BYTE = 8_000_000_000
U64 = 2**64 - 1


def token_bucket(size, tokens, elapsed, rate, length, is_limited=True):
    """The tokens after a packet, and whether it is IN."""
    earned = elapsed * rate
    added = choose(tokens + earned > U64, U64, tokens + earned)
    limited = choose(added > size, size, added) if is_limited else added
    level = choose(earned > U64, size, limited)
    needed = length * TOKENS_OF_BYTE
    return choose(level >= needed, level - needed, level), level >= needed


def prove_token_bucket() -> None:
    size, tokens, elapsed, rate, length = z3.Ints("size tokens elapsed rate length")
    ranges = [0 <= tokens, tokens <= size, size <= U64, 0 <= elapsed, elapsed <= U64, 0 <= rate, rate <= U64, 0 <= length]
    # A packet has less than 2 GiB: more overflows the product in 64 bits.
    packet = length <= 2**31
    after, _ = token_bucket(size, tokens, elapsed, rate, length)
    prove("token_bucket: within 0 and the burst", [*ranges, packet], z3.And(after >= 0, after <= size))
    prove("token_bucket: cost of a packet fits 64 bits", [packet, length >= 0], length * TOKENS_OF_BYTE <= U64)
    prove("token_bucket: time and rate fit 128 bits", ranges, elapsed * rate < 2**128)
    unlimited, _ = token_bucket(size, tokens, elapsed, rate, length, is_limited=False)
    planted("token_bucket without a limit", [*ranges, packet], unlimited <= size)
    planted("token_bucket with a packet above 2 GiB", [length >= 0, length < 2**32], length * TOKENS_OF_BYTE <= U64)


# --- The time of transmission: Rate::time_for in crates/aqm/src/base/value/units.rs.


def time_for(rate, length, half=2):
    bits_ns = length * 8_000_000_000
    return (bits_ns + rate / half) / rate if z3.is_expr(rate) else (bits_ns + rate // half) // rate


def prove_time_for() -> None:
    rate, length = z3.Ints("rate length")
    ranges = [1 <= rate, rate <= U64, 0 <= length, length <= 2**31]
    exact = length * 8_000_000_000
    # The product with the rate, since z3's division is hard: time = q with q rate <= x < (q + 1) rate.
    q, x = z3.Ints("q x")
    divided = [x == exact + rate / 2, q * rate <= x, x < (q + 1) * rate]
    error = q * rate - exact
    prove("time_for: within half a nanosecond", [*ranges, *divided], z3.And(2 * error <= rate, 2 * error >= -rate))
    prove("time_for: fits 64 bits", [*ranges, *divided, q >= 0], q <= U64)
    down = [x == exact, q * rate <= x, x < (q + 1) * rate]
    planted("time_for rounded down", [*ranges, *down], 2 * (exact - q * rate) <= rate)


# --- CoDel's time between drops: gap in crates/aqm/src/aqm/delay/codel.rs. interval/sqrt(count), rounded to nanoseconds.


def codel_gap(interval, count):
    exact = interval / math.sqrt(count)
    whole = math.floor(exact)
    return whole + (exact - whole >= 0.5)


def prove_codel_gap() -> None:
    interval, gap = z3.Ints("interval gap")
    root, exact, error = z3.Reals("root exact error")
    # count is root^2, below 2^32. The quotient of doubles is wrong by less than 2^-50 of itself.
    ranges = [1 <= root, root < 65_536, 1000 <= interval, interval <= 10**12, exact * root == interval]
    rounded = [0 <= error, error <= z3.ToReal(interval) * z3.RealVal(2) ** -50]
    rounded += [z3.ToReal(gap) - exact <= 0.5 + error, exact - z3.ToReal(gap) <= 0.5 + error]
    prove("codel: next drop is later, with an interval of 66 us or more", [*ranges, *rounded, interval >= 66_000], gap >= 1)
    prove("codel: drops at most one interval apart", [*ranges, *rounded], gap <= interval)
    planted("codel with an interval of 1 us", [*ranges, *rounded], gap >= 1)


# --- Probabilities after a step, in IEEE double precision.

DOUBLE = z3.Float64()
NEAREST = z3.RNE()


def fp(value: float):
    return z3.FPVal(value, DOUBLE)


def clamp(value, low, high):
    """f64::clamp: NaN stays NaN."""
    return choose(value < low, low, choose(value > high, high, value))


def plus(a, b):
    return z3.fpAdd(NEAREST, a, b) if z3.is_expr(a) else a + b


def times(a, b):
    return z3.fpMul(NEAREST, a, b) if z3.is_expr(a) else a * b


def minus(a, b):
    return z3.fpSub(NEAREST, a, b) if z3.is_expr(a) else a - b


def delay_pi(p, before, delay, target, alpha, beta, most):
    """crates/aqm/src/parts/delay_pi.rs: PI2 and DualPI2."""
    change = plus(times(alpha, minus(delay, target)), times(beta, minus(delay, before)))
    return clamp(plus(p, change), 0.0 if not z3.is_expr(p) else fp(0.0), most)


def raqm(p, factor, p_min):
    """crates/aqm/src/law/raqm.rs, with the exponential as a given factor."""
    one = fp(1.0) if z3.is_expr(p) else 1.0
    return clamp(times(p, factor), p_min, one)


def prove_probabilities() -> None:
    p, change, most = (z3.FP(name, DOUBLE) for name in ("p", "change", "most"))
    zero, one = fp(0.0), fp(1.0)
    of_p = [zero <= p, p <= most, zero <= most, most <= one]
    # A change of any size, also infinite: only NaN is excluded.
    moved = clamp(plus(p, change), zero, most)
    prove("p + change: within 0 and its maximum", [*of_p, z3.Not(z3.fpIsNaN(change))], z3.And(zero <= moved, moved <= most))
    planted("p + change without a clamp", [*of_p, z3.Not(z3.fpIsNaN(change))], plus(p, change) <= most)
    up, down = z3.FP("up", DOUBLE), z3.FP("down", DOUBLE)
    steps = [zero <= p, p <= one, zero <= up, up <= one, zero <= down, down <= one]
    raised, lowered = plus(p, up), minus(p, down)
    aaqm = [z3.If(raised < one, raised, one), z3.If(lowered > zero, lowered, zero)]
    prove("aaqm: p within 0 and 1", steps, z3.And(*[z3.And(zero <= after, after <= one) for after in aaqm]))
    planted("aaqm without the lower clamp", steps, zero <= lowered)
    # No NaN: the terms of the change are finite if gains and delays are. Delays are below 2^64 ns.
    a, b = z3.Reals("a b")
    gains, delays = [0 <= a, a <= 1000], [-(2**64) <= b, b <= 2**64]
    prove("delay_pi: terms are finite", [*gains, *delays], z3.And(a * b < z3.RealVal(2) ** 1000, a * b > -z3.RealVal(2) ** 1000))
    factor, p_min = z3.FP("factor", DOUBLE), z3.FP("p_min", DOUBLE)
    product = z3.FP("product", DOUBLE)
    of_raqm = [zero <= p_min, p_min <= one, z3.Not(z3.fpIsNaN(product))]
    after = clamp(product, p_min, one)
    prove("raqm: p within p_min and 1", of_raqm, z3.And(p_min <= after, after <= one))
    planted("raqm with a product that is NaN", of_raqm[:2], z3.And(p_min <= after, after <= one))


# --- The comparison with the code.


def double(text: str) -> float:
    return struct.unpack(">d", bytes.fromhex(text))[0]


def run(name: str, inputs: list[str]) -> list:
    if name == "token_bucket":
        size, tokens, elapsed, rate, length = map(int, inputs)
        after, is_in = token_bucket(size, tokens, elapsed, rate, length)
        return [str(after // TOKENS_OF_BYTE), str(int(is_in))]
    if name in ("time_for", "codel_gap"):
        return [str({"time_for": time_for, "codel_gap": codel_gap}[name](*map(int, inputs)))]
    values = [double(text) for text in inputs]
    result = {"delay_pi": delay_pi, "raqm": raqm}[name](*values)
    return [struct.pack(">d", result).hex()]


def compare(lines: list[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for line in lines:
        name, inputs, found = line.split(" | ")
        expected = run(name, inputs.split())
        if expected != found.split():
            counts[name] = -1
            tell(False, "", f"DIFFERS {name}: {inputs}: the model has {expected}, the code {found}")
        elif counts.get(name, 0) >= 0:
            counts[name] = counts.get(name, 0) + 1
    return counts


def main() -> int:
    prove_token_bucket()
    prove_time_for()
    prove_codel_gap()
    prove_probabilities()
    lines = sys.stdin.read().splitlines()
    counts = compare(lines)
    for name, count in sorted(counts.items()):
        tell(count > 0, f"agrees {name}: {count} vectors", f"DIFFERS {name}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
