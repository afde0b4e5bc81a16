"""The GIL: other threads and signals run during native code, and calls from several threads are independent."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy
import pytest

import forebay
from conftest import CASE_1

LONG_S = 1.5
"""Shortest duration in seconds of a call during which other threads are counted."""


class Watch:
    """A thread that counts how often it runs."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self.over.is_set():
            self.times.append(time.perf_counter())
            time.sleep(0.01)

    def longest_gap_s(self) -> float:
        return float(numpy.diff(self.times).max())


@contextmanager
def watching() -> Iterator[Watch]:
    watch = Watch()
    watch.thread.start()
    time.sleep(0.05)
    yield watch
    watch.over.set()
    watch.thread.join()


def runs_beside(work: Callable[[float], object], size: float) -> None:
    """Other threads run during a call of at least ``LONG_S``; ``size`` is its amount of work, increased until it is long enough."""
    while True:
        with watching() as watch:
            begun = time.perf_counter()
            work(size)
            took = time.perf_counter() - begun
        if took >= LONG_S:
            break
        size *= min(1.3 * LONG_S / took, 100.0)
    assert watch.longest_gap_s() < 0.4 * took, f"stood for {watch.longest_gap_s():.2f} of {took:.2f} s"


def test_other_threads_run_during_a_long_enqueue() -> None:
    runs_beside(lambda seconds: forebay.Discipline("raqm").enqueue(seconds, 500), 1e5)


def test_other_threads_run_during_a_long_arrival() -> None:
    runs_beside(lambda seconds: forebay.Discipline("pie").arrival(seconds, 500, backlog=3), 1e5)


class Plain(forebay.Law):
    name = "threads_plain"

    def update(self, sample: Any) -> float:
        return 0.1


def test_other_threads_run_during_a_python_law() -> None:
    runs_beside(lambda seconds: forebay.Discipline("threads_plain").enqueue(seconds, 500), 1e3)


INTERRUPTED = """
import os, signal, sys, threading, forebay
queue = forebay.Discipline("raqm")
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    queue.enqueue(1e9, 500)
except KeyboardInterrupt:
    try:
        queue.enqueue(1.0, 500)
    except forebay.ScenarioError as error:
        print("later" if "s or later" in str(error) else error)
"""


def ended(code: str, *words: str) -> str:
    """Output of a separate Python program, which must end by itself."""
    told = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, timeout=60)
    assert told.returncode == 0, told.stderr
    return told.stdout.strip()


def test_queue_clock_does_not_go_back_after_ctrl_c() -> None:
    assert ended(INTERRUPTED) == "later", "times before the interrupted one are refused"


def test_calls_of_other_threads_wait() -> None:
    queue = forebay.Discipline("raqm", queue="9p")
    thread = threading.Thread(target=queue.enqueue, args=(1e7, 500))
    thread.start()
    time.sleep(0.2)
    assert thread.is_alive()
    assert queue.counts["offered"] == 1, "the packet has arrived when this call has its turn"
    thread.join()
    shared, wrong = forebay.Discipline("fq_codel"), []

    def use() -> None:
        try:
            for _ in range(2000):
                shared.enqueue(1.0, 500)
                shared.dequeue(1.0)
        except Exception as error:  # noqa: BLE001
            wrong.append(error)

    several = [threading.Thread(target=use) for _ in range(4)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    assert not wrong and shared.counts["offered"] == 8000


class Curious(forebay.Law):
    """Calls its own discipline, in the same or another thread."""

    name = "threads_curious"
    period: Any = "1s"
    elsewhere: bool = False

    def update(self, sample: Any) -> float:
        if self.elsewhere:
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
        else:
            ask()
        return 0.0


asked: list[Any] = []
mine: list[forebay.Discipline] = []


def ask() -> None:
    try:
        asked.append(mine[0].backlog)
    except RuntimeError as error:
        asked.append(str(error))


@pytest.mark.parametrize("elsewhere", ["on", "off"])
def test_discipline_cannot_call_itself(elsewhere: str) -> None:
    asked.clear()
    mine[:] = [forebay.Discipline(f"threads_curious elsewhere={elsewhere}")]
    assert mine[0].enqueue(2.0, 500) == "accepted"
    assert len(asked) == 2 and all("in use" in str(said) for said in asked), asked
    assert mine[0].backlog == (1, 500)


HANDLER = """
import signal, forebay
queue = forebay.Discipline("raqm")
def look(*_):
    queue.backlog
signal.signal(signal.SIGALRM, look)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    queue.enqueue(1e9, 500)
except RuntimeError as error:
    print("refused" if "in use" in str(error) else error)
"""


def test_a_call_from_a_signal_handler_is_refused() -> None:
    assert ended(HANDLER) == "refused"


needs_gymnasium = pytest.mark.skipif(find_spec("gymnasium") is None, reason="gymnasium is not installed")


@needs_gymnasium
def test_other_threads_run_during_a_long_step() -> None:
    from forebay.gym import AqmVectorEnv

    def step(count: float) -> None:
        env = AqmVectorEnv(CASE_1, int(count), set={"flows.ftp.count": 10}, step_s=50.0)
        env.reset(seed=1)
        env.step(numpy.zeros((int(count), 1)))

    runs_beside(step, 4)


@needs_gymnasium
def test_other_threads_run_during_a_long_reset() -> None:
    from forebay.gym import AqmVectorEnv

    def reset(count: float) -> None:
        AqmVectorEnv(CASE_1, int(count), set={"flows.ftp.count": 2000}).reset(seed=1)

    runs_beside(reset, 16)


STEP = """
import os, signal, sys, threading, time, numpy
from forebay.gym import AqmVectorEnv
env = AqmVectorEnv(sys.argv[1], 64, set={"flows.ftp.count": 40, "duration": "4000s"}, step_s=1000.0)
env.reset(seed=1)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
begun = time.perf_counter()
try:
    env.step(numpy.zeros((64, 1)))
except KeyboardInterrupt:
    took = time.perf_counter() - begun
    try:
        env.step(numpy.zeros((64, 1)))
    except ValueError as error:
        print(f"{took < 20} {error}")
"""


@needs_gymnasium
def test_ctrl_c_ends_a_long_step() -> None:
    assert ended(STEP, str(CASE_1)) == "True call reset() first"


@needs_gymnasium
def test_pieces_of_a_step_are_one_step() -> None:
    """A step with checks for Ctrl-C gives the same packets as one without."""
    from forebay.gym import AqmVectorEnv

    def end(step_s: float, steps: int) -> Any:
        env = AqmVectorEnv(CASE_1, 2, set={"duration": "200s"}, observation=["queue_packets", "time_s"], step_s=step_s)
        env.reset(seed=3)
        for _ in range(steps):
            rows = env.step(numpy.full((2, 1), 0.01))[0]
        return rows

    assert (end(200.0, 1) == end(0.5, 400)).all()


def test_signals_reach_python_during_a_long_call() -> None:
    seen: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.perf_counter()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        begun = time.perf_counter()
        forebay.Discipline("raqm").enqueue(1e7, 500)
        took = time.perf_counter() - begun
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) >= took / 0.1 / 4, f"{len(seen)} in {took:.1f} s"
