"""Cost of the package in addition to the simulations: python python/benches/costs.py, on a quiet machine with gymnasium.

Medians of five, in turns where two things are compared.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy

import forebay
from forebay.gym import AqmVectorEnv, CongestionVectorEnv, path

CASE = Path(__file__).parents[2] / "papers" / "raqm" / "case-1.toml"
SET = {"flows.ftp.count": 40}
ROUNDS = 5


def cpu_s(who: int, work: Callable[[], Any]) -> float:
    """CPU seconds of this process, or of those that it starts."""
    before = resource.getrusage(who)
    work()
    after = resource.getrusage(who)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def imports() -> None:
    took = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import forebay"], check=True)
        middle = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        took.append(2 * middle - begin - time.perf_counter())
    print(f"import forebay              {statistics.median(took) * 1e3:8.0f} ms more than an empty program")


def overhead() -> None:
    with tempfile.TemporaryDirectory() as place:
        words = ["run", str(CASE), "--runs", "6", "--set", "flows.ftp.count=40", "--aqm", "raqm", "--quiet"]
        program: list[float] = []
        package: list[float] = []
        kept: list[float] = []
        for i in range(ROUNDS):
            command = [sys.executable, "-m", "forebay", *words, "-o", f"{place}/program-{i}"]
            run = lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: E731
            program.append(cpu_s(resource.RUSAGE_CHILDREN, run))
            here: dict[str, Any] = {"aqm": "raqm", "set": SET, "seeds": 6}
            package.append(cpu_s(resource.RUSAGE_SELF, lambda: forebay.run(CASE, **here)))
            kept.append(cpu_s(resource.RUSAGE_SELF, lambda: forebay.run(CASE, **here, output=f"{place}/package-{i}")))
    base, memory, disk = (statistics.median(times) for times in (program, package, kept))
    print(f"forebay run, six runs       {base:8.3f} CPU s, its report and the interpreter's start included")
    print(f"forebay.run in memory       {memory:8.3f} CPU s, {memory / base - 1:+.1%}")
    print(f"forebay.run to a directory  {disk:8.3f} CPU s, {disk / base - 1:+.1%}")


def sweeps() -> None:
    vary = {"flows.ftp.count": list(range(5, 45))}
    took: dict[str, list[float]] = {"in this process": [], "on two processes": []}
    with tempfile.TemporaryDirectory() as place, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        warm: dict[str, Any] = {"vary": {"flows.ftp.count": [1]}, "seeds": 4, "aqm": "raqm"}
        forebay.sweep(CASE, **warm, executor=pool, output=f"{place}/warm")
        for i in range(ROUNDS):
            for name, executor in zip(took, (None, pool)):
                begin = time.perf_counter()
                options: dict[str, Any] = {"vary": vary, "aqm": "raqm", "seeds": 2, "jobs": 2}
                forebay.sweep(CASE, **options, executor=executor, output=f"{place}/{name}-{i}")
                took[name].append(time.perf_counter() - begin)
    base = statistics.median(took["in this process"])
    for name, times in took.items():
        print(f"sweep of 80 runs, {name:17} {statistics.median(times):6.2f} s, {statistics.median(times) / base - 1:+.1%}")


class Constant(forebay.Law):
    """Asked every 10 ms."""

    name = "constant_law"
    period: Any = "10ms"

    def update(self, sample: Any) -> float:
        return 0.02


def law() -> None:
    one: dict[str, Any] = {"set": SET, "jobs": 1}
    mine, blind = [], []
    for _ in range(ROUNDS):
        mine.append(cpu_s(resource.RUSAGE_SELF, lambda: forebay.run(CASE, aqm=Constant, **one)))
        blind.append(cpu_s(resource.RUSAGE_SELF, lambda: forebay.run(CASE, aqm="constant_law period=1000s", **one)))
    more = statistics.median(mine) - statistics.median(blind)
    print(f"a law in Python             {more / 20_000 * 1e6:8.2f} us a period of 10 ms, {more:.3f} CPU s in 200 s simulated")


def speed(env: Any, action: Any) -> float:
    """Steps per second, over all rows."""
    env.reset(seed=1)
    for _ in range(300):
        env.step(action)
    speeds = []
    for _ in range(ROUNDS):
        begin, steps = time.perf_counter(), 0
        while time.perf_counter() - begin < 1.0:
            env.step(action)
            steps += len(action)
        speeds.append(steps / (time.perf_counter() - begin))
    return statistics.median(speeds)


def environments() -> None:
    for count in (16, 32, 64, 128):
        steps = speed(AqmVectorEnv(CASE, count, set=SET), numpy.full((count, 1), 0.02))
        print(f"environments, {count:3} at a time {steps:10,.0f} steps of 10 ms a second")
    for opponents in ((), ("cubic",), ("cubic", "bbr", "prague")):
        # An agent with twice the window that fills the link.
        env = CongestionVectorEnv(path("10mbit", opponents=opponents), 256, action={"window": (66, 66)}, step_s=0.01)
        steps = speed(env, numpy.full((256, 1), 66.0))
        print(f"senders, 256 at a time, {len(opponents)} opponents {steps:10,.0f} steps of 10 ms a second")


if __name__ == "__main__":
    imports()
    overhead()
    sweeps()
    law()
    environments()
