"""The compiled part of the package. Use the public API in `forebay` instead."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, final

import numpy
from typing_extensions import CapsuleType, Self

__all__ = [
    "Ack",
    "Column",
    "Context",
    "Discipline",
    "Env",
    "Level",
    "Packet",
    "Results",
    "Sample",
    "Scenario",
    "Search",
    "SenderEnv",
    "Sweep",
    "Table",
    "bring",
    "conformance",
    "control_conformance",
    "disciplines",
    "evaluate",
    "explain",
    "fluid",
    "main",
    "load",
    "markov",
    "mmpp",
    "readings",
    "register",
    "register_agent",
    "register_control",
    "reproduce",
    "run",
    "stability",
    "stability_map",
    "suite_scenarios",
    "tune",
    "work",
]

_Path = str | PathLike[str]
_Place = tuple[int, int, int]
_Floats = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

@final
class Scenario:
    """A scenario: a file's text with overrides. Immutable; can be pickled."""

    def __new__(
        cls,
        text: str,
        name: str = "scenario.toml",
        set: Sequence[str] = ...,
        vary: Sequence[str] = ...,
        aqm: Sequence[str] = ...,
        both_directions: bool = False,
    ) -> Self: ...
    @staticmethod
    def load(path: _Path) -> Scenario:
        """Reads a scenario file."""

    def changed(
        self,
        set: Sequence[str] = ...,
        vary: Sequence[str] = ...,
        aqm: Sequence[str] = ...,
        both_directions: bool = False,
    ) -> Scenario:
        """The scenario with more overrides: `PATH=VALUE` each, `PATH=VALUES` each, and disciplines that replace those
        compared. With ``both_directions`` they run on the opposite links too."""

    @property
    def title(self) -> str:
        """The title."""

    @property
    def name(self) -> str:
        """The file name used in messages."""

    @property
    def hash(self) -> str:
        """Hash of the resolved cases. Scenarios with the same hash are the same experiment."""

    @property
    def duration_s(self) -> float:
        """Simulated duration of a run of the first case, s."""

    @property
    def aqm(self) -> list[str]:
        """The disciplines compared, as written."""

    @property
    def axes(self) -> list[dict[str, str]]:
        """The axis values of each case."""

    def to_toml(self, case: int = 0) -> str:
        """A case as TOML, with all defaults written out."""

    def parts(self) -> tuple[str, str, list[str], list[str], list[str], bool]:
        """Text, name, set, vary, aqm and ``both_directions``, as passed to the native code."""

    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Table:
    """Named columns of equal length, for Arrow and numpy. Immutable; can be pickled."""

    def __new__(cls, columns: Sequence[tuple[str, str, bytes, bytes, Sequence[str]]]) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def column_names(self) -> list[str]:
        """The column names."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""

    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> numpy.ndarray[Any, Any]: ...
    def to_dict(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """All columns by name, as numpy arrays of shape `(num_rows,)`."""

    def write_parquet(self, path: _Path) -> None:
        """Writes a Parquet file."""

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType:
        """The Arrow PyCapsule interface."""

@final
class Column:
    """A numeric column, shared with numpy without a copy."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@final
class Results:
    """Finished runs. Results in a directory keep only their summaries in memory."""

    def __new__(
        cls,
        title: str,
        compare: str,
        runs: Sequence[bytes],
        place: tuple[_Path, Sequence[tuple[int, int, int, str]]] | None,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def to_json(self) -> str:
        """`summary.json` as text; its keys are stable."""

    def text(self) -> str:
        """The tables that the command line prints."""

    @property
    def summary(self) -> Table:
        """One row per run, link and class."""

    @property
    def series(self) -> Table:
        """One row per run, link and sampling interval."""

    @property
    def flows(self) -> Table:
        """One row per run and flow."""

    @property
    def traffic(self) -> Table:
        """One row per run, link and class of traffic."""

    @property
    def completions(self) -> Table:
        """One row per file or page that arrived."""

    def quantity(self, name: str) -> list[float]:
        """The value of a quantity in each run; NaN where a run does not have it.

        `name` is in the notation of docs/claims.md, such as `queue_pkts.mean` or `class.0.goodput_bps`.
        """

    def queue_shares(self, label: str) -> list[list[float]]:
        """Fraction of time at each queue length, from 0 packets on, for each run with this label."""

    @property
    def labels(self) -> list[str]:
        """The label of each run."""

    @property
    def seeds(self) -> list[int]:
        """The seed of each run."""

    @property
    def directory(self) -> Path | None:
        """The directory of the results; `None` if in memory only."""

    def __len__(self) -> int: ...

@final
class Packet:
    """A packet as seen by a discipline. Immutable; can be pickled."""

    def __new__(
        cls,
        length: int,
        arrived_s: float,
        flow: int,
        pair: int,
        service_class: int,
        ecn: str,
        colour: str,
        protocol: str,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def length(self) -> int:
        """Length on the wire, bytes."""

    @property
    def arrived_s(self) -> float:
        """Arrival time, s."""

    @property
    def flow(self) -> int:
        """Flow id (connection)."""

    @property
    def pair(self) -> int:
        """Id of the pair of source and destination."""

    @property
    def service_class(self) -> int:
        """Service class."""

    @property
    def ecn_capable(self) -> bool:
        """Can it be marked instead of dropped?"""

    @property
    def ce(self) -> bool:
        """Is it already CE-marked?"""

    @property
    def ecn(self) -> str:
        """ECN codepoint: `not-ect`, `ect0`, `ect1` or `ce`."""

    @property
    def colour(self) -> str:
        """`in` or `out` of profile."""

    @property
    def protocol(self) -> str:
        """Transport protocol: `tcp` or `udp`."""

@final
class Level:
    """The queue state at a packet, without this packet and the packet in transmission. Immutable; can be pickled."""

    def __new__(cls, packets: int, bytes: int, limit_packets: float, rate_bps: float) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def packets(self) -> int:
        """Backlog, packets."""

    @property
    def bytes(self) -> int:
        """Backlog, bytes."""

    @property
    def limit_packets(self) -> float:
        """Buffer, packets; a buffer in bytes is divided by the mean packet size."""

    @property
    def rate_bps(self) -> float:
        """Link rate, bit/s."""

@final
class Sample:
    """What a law observes of one period. Immutable; can be pickled."""

    def __new__(
        cls,
        now_s: float,
        dt_s: float,
        backlog_packets: float,
        backlog_bytes: float,
        rate_bps: float,
        offered_packets: int,
        offered_bytes: int,
        accepted_packets: int,
        accepted_bytes: int,
        departed_packets: int,
        departed_bytes: int,
        dropped_early_packets: int,
        dropped_overflow_packets: int,
        marked_packets: int,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def now_s(self) -> float:
        """End of the period, s."""

    @property
    def dt_s(self) -> float:
        """Length of the period, s."""

    @property
    def backlog_packets(self) -> float:
        """Backlog at the end of the period, packets."""

    @property
    def backlog_bytes(self) -> float:
        """Backlog at the end of the period, bytes."""

    @property
    def rate_bps(self) -> float:
        """Link rate, bit/s."""

    @property
    def offered_packets(self) -> int:
        """Packets offered in the period."""

    @property
    def offered_bytes(self) -> int:
        """Bytes offered in the period."""

    @property
    def accepted_packets(self) -> int:
        """Packets that entered the queue."""

    @property
    def accepted_bytes(self) -> int:
        """Bytes that entered the queue."""

    @property
    def departed_packets(self) -> int:
        """Packets sent."""

    @property
    def departed_bytes(self) -> int:
        """Bytes sent."""

    @property
    def dropped_early_packets(self) -> int:
        """Packets dropped early, by the discipline."""

    @property
    def dropped_overflow_packets(self) -> int:
        """Packets dropped because the buffer was full."""

    @property
    def marked_packets(self) -> int:
        """Packets marked."""

@final
class Ack:
    """What a congestion control learns when an acknowledgement has been processed. Immutable."""

    @property
    def now_s(self) -> float:
        """When the acknowledgement arrived, s."""

    @property
    def rtt_s(self) -> float | None:
        """Smallest round trip of the packets that it is the first to report, of those sent once, s; None: there are
        none."""

    @property
    def min_rtt_s(self) -> float | None:
        """Smallest round trip of the connection, s; None before the first one."""

    @property
    def srtt_s(self) -> float:
        """Smoothed round-trip time, s; 0 before the first measurement."""

    @property
    def delivered(self) -> int:
        """Packets that it is the first to report as delivered."""

    @property
    def marked(self) -> int:
        """Packets that it is the first to report as marked; with the ECN-Echo of RFC 3168, all delivered ones if it has
        ECN-Echo."""

    @property
    def lost(self) -> int:
        """Packets considered lost because of it."""

    @property
    def in_flight(self) -> int:
        """Packets in flight."""

    @property
    def rate(self) -> float | None:
        """Delivery rate, packets/s; None: no sample."""

    @property
    def application_limited(self) -> bool:
        """Does the application, not the window, limit sending?"""

    @property
    def in_recovery(self) -> bool:
        """Is the sender repairing losses?"""

@final
class Context:
    """Time and random numbers; valid during one call."""

    @property
    def now_s(self) -> float:
        """Current time, s."""

    def uniform(self) -> float:
        """The next number of the discipline's random stream, uniform in [0, 1)."""

@final
class Discipline:
    """A single discipline in front of a link, driven packet by packet. Calls from several threads are serialized."""

    def __new__(
        cls, aqm: str, rate: str = "10mbit", queue: str = "100p", packet: int = 1500, seed: int = 1
    ) -> Self: ...
    @property
    def name(self) -> str:
        """The name."""

    @property
    def canonical(self) -> str:
        """Name and all parameters, with defaults."""

    @property
    def kind(self) -> str:
        """Kind: `law` (sees counters), `aqm` (sees packets) or `queue` (owns its queues)."""

    def arrival(
        self,
        now: float,
        length: int,
        backlog: int,
        backlog_bytes: int | None = None,
        ecn: bool | Literal["ect0", "ect1"] = False,
        flow: int = 0,
    ) -> str:
        """A packet of `length` bytes arrives at `now` (s) at a backlog of `backlog` packets: of mean size, or of
        `backlog_bytes` in total. Returns `"accepted"`, `"marked"` or `"dropped"`, and counts it. For `ecn` see
        `enqueue`."""

    def enqueue(
        self,
        now: float,
        length: int,
        flow: int = 0,
        ecn: bool | Literal["ect0", "ect1"] = False,
        service_class: int = 0,
        *,
        dscp: int = 0,
        hosts: tuple[int, int] = (0, 0),
    ) -> str:
        """Offers a packet to the queue. Returns `"accepted"`, `"marked"` or `"dropped"`. `ecn` is the codepoint:
        `"ect0"`, `"ect1"`, `True` for ECT(0), `False` for Not-ECT. `dscp` is the Differentiated Services codepoint, 0 to
        63; `hosts` are the ids of source and destination, 0 to 65535."""

    def dequeue(self, now: float) -> Packet | None:
        """The next packet to send, or `None`."""

    @property
    def held_until(self) -> float | None:
        """The time (s) from which the queue sends a packet, if `dequeue` returned `None` although packets wait: a
        discipline with a shaper, such as `cake`, holds them back. `None`: it holds none back."""

    @property
    def backlog(self) -> tuple[int, int]:
        """Packets and bytes in the queue."""

    @property
    def counts(self) -> dict[str, int]:
        """Packet counters: offered, accepted, departed, dropped_early, dropped_overflow, marked."""

    @property
    def probes(self) -> dict[str, float]:
        """Internal state by name, as listed by `forebay explain`."""

    def __getitem__(self, name: str, /) -> str: ...
    def set(self, **values: Any) -> None:
        """Changes parameters and keeps the state."""

    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Env:
    """Simulations of one scenario, stepped in parallel. Calls from several threads are serialized."""

    OBSERVABLE: ClassVar[tuple[str, ...]]
    """Names that can be observed with every discipline."""

    def __new__(
        cls,
        scenario: Scenario,
        count: int,
        observation: Sequence[str],
        step_s: float = 0.01,
        parameters: Sequence[str] = ...,
        jobs: int | None = None,
        ecn: bool = False,
    ) -> Self: ...
    def reset(self, which: Sequence[int], seeds: Sequence[int]) -> _Floats:
        """Restarts the simulations `which` with these seeds. Returns all observations, shape `(count, names)`."""

    def step(self, actions: _Floats) -> tuple[_Floats, numpy.ndarray[Any, numpy.dtype[numpy.bool_]]]:
        """Advances all simulations by one step. Returns their observations and which have ended."""

    def __reduce__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: Sequence[tuple[int, bytes, int] | None]) -> None: ...

@final
class SenderEnv:
    """Simulations of one scenario whose senders are agents, stepped in parallel. A row for each agent."""

    OBSERVABLE: ClassVar[tuple[str, ...]]
    """Names that can be observed."""

    def __new__(
        cls,
        scenario: Scenario,
        count: int,
        observation: Sequence[str],
        step_s: float = 0.01,
        action: str = ...,
        jobs: int | None = None,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: list[Any]) -> None: ...
    @property
    def agents(self) -> int:
        """Number of agents in each simulation."""

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The smallest and the largest value of each observed quantity."""

    def reset(self, which: Sequence[int], seeds: Sequence[int]) -> _Floats:
        """Restarts the simulations `which`. Returns the observations of all agents, one row each."""

    def step(self, actions: _Floats) -> tuple[_Floats, numpy.ndarray[Any, numpy.dtype[numpy.bool_]]]:
        """Advances all simulations by one step. Returns the observations, and whether each agent's simulation has
        ended."""

def register_agent() -> None:
    """Registers the congestion control ``own:agent``, which environments control."""

def main(words: Sequence[str]) -> int:
    """Runs the program `forebay` with these arguments. Returns the exit code."""

def disciplines() -> list[str]:
    """The names of all built-in disciplines."""

def explain(name: str) -> str:
    """Describes a discipline, marker, congestion control or traffic kind, as JSON."""

def stability(scenario: Scenario, critical: bool) -> str:
    """Equilibrium and stability margins of the linearized control loop of TCP and each discipline, as JSON."""

def fluid(scenario: Scenario) -> str:
    """Trajectory of the nonlinear control loop of TCP and each discipline, as JSON."""

def markov(scenario: Scenario, p: str | None = None, step: str | None = None, sigma: str | None = None) -> str:
    """Distribution of the queue at one signal probability, for each discipline, as JSON."""

def mmpp(scenario: Scenario) -> str:
    """The stationary queue under Markov-modulated arrivals, as JSON."""

def stability_map(scenario: Scenario, x: str, y: str, cells: int) -> str:
    """Stability of the linear loop over two parameters, as JSON."""

def tune(
    scenario: Scenario,
    aqm: str,
    aims: Sequence[str],
    output: _Path,
    seeds: int,
    force: bool,
) -> str:
    """Parameters that meet aims in the model, checked in simulation, as JSON. ``scenario`` was read with ``aqm``."""

def load(path: _Path) -> Results:
    """The results in a directory that `forebay run`, `sweep` or `link` wrote."""

def reproduce(
    names: Sequence[str],
    level: str,
    output: _Path | None = None,
    bar: Callable[[float, float], None] | None = None,
) -> str:
    """The verdicts on papers or claims; without names, on all papers. `bar` receives the progress of each paper."""

def suite_scenarios(
    suite: str, names: Sequence[str], aqm: Sequence[str], level: str, output: _Path | None = None, jobs: int | None = None
) -> tuple[str, list[tuple[str, str, str, list[str], list[str], list[int]]]]:
    """The directory of a suite's results, and for each scenario: folder, path, text, changes, disciplines, seeds."""

def evaluate(
    suite: str,
    names: Sequence[str],
    aqm: Sequence[str],
    level: str,
    output: _Path | None = None,
    jobs: int | None = None,
    bar: Callable[[float, float], None] | None = None,
) -> str:
    """The verdicts on the claims of a suite. `bar` receives the progress."""

def readings(
    paper: str,
    readings: int,
    seeds: int,
    confirm: int,
    output: _Path,
    budget_s: float | None = None,
    jobs: int | None = None,
    bar: Callable[[float, float], None] | None = None,
) -> str:
    """Searches the readings of a paper; as JSON. `bar` receives the progress of the search and of the confirmation."""

@final
class Search:
    """A search of readings whose readings other processes simulate."""

    def __new__(cls, paper: str, seeds: int) -> Self:
        """Reads the files of the paper."""

    @property
    def about(self) -> str:
        """Identifies the build, the files of the paper and the number of seeds."""

    @property
    def simulated_s(self) -> float:
        """Simulated seconds of a reading."""

    def unknown(self, readings: int, directory: _Path) -> tuple[list[str], int]:
        """The readings to simulate next, and the number of readings whose results the log in `directory` has."""

    def score(self, reading: str) -> str:
        """Simulates a reading. Returns the line of the log with its results."""

    def add(self, lines: Sequence[str], directory: _Path) -> None:
        """Adds lines with results to the log in `directory`."""

def register(class_: type) -> None:
    """Registers a class under its name. Replaces an earlier class of the same name."""

def register_control(class_: type) -> None:
    """Registers a class as a custom congestion control."""

def control_conformance(name: str, paths: int) -> str | None:
    """The first rule of the conformance suite that a congestion control breaks, or None."""

def conformance(aqm: str, seed: int) -> str | None:
    """The first conformance rule that a discipline violates, or `None`."""

def run(
    scenario: Scenario,
    seeds: Sequence[int],
    jobs: int | None = None,
    output: _Path | None = None,
    progress: Callable[[float], object] | None = None,
    shards: bool = False,
    force: bool = False,
    sweep: Sweep | None = None,
) -> Results:
    """Runs all cases, disciplines and seeds. Skips runs that `output` already holds. The lock of `output` is that of
    `sweep`, if given."""

def work(
    scenario: Scenario, seeds: Sequence[int], places: Sequence[_Place], directory: _Path | None
) -> list[bytes | None]:
    """Does some runs of a sweep. Stores each in the directory if it can be reached, else returns it as bytes."""

@final
class Sweep:
    """The directory of a distributed sweep, open and locked until `run` takes it over or it is closed."""

    def __new__(cls, scenario: Scenario, seeds: Sequence[int], directory: _Path, workers: int, force: bool) -> Self:
        """Opens the directory of a sweep with `workers` parallel workers. Waits for another writer."""

    @property
    def left(self) -> list[_Place]:
        """The runs that were not finished when it was opened."""

    def close(self) -> None:
        """Releases the directory."""

def bring(
    scenario: Scenario, seeds: Sequence[int], directory: _Path, brought: Sequence[tuple[_Place, bytes]]
) -> None:
    """Stores records returned by `work` in the directory of their sweep."""
