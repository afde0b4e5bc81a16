"""The compiled part of the package. Use what `forebay` offers in its place."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, final

import numpy
from typing_extensions import CapsuleType, Self

__all__ = [
    "Column",
    "Context",
    "Discipline",
    "Env",
    "Level",
    "Packet",
    "Results",
    "Sample",
    "Scenario",
    "Sweep",
    "Table",
    "bring",
    "conformance",
    "disciplines",
    "explain",
    "fluid",
    "main",
    "markov",
    "mmpp",
    "register",
    "reproduce",
    "run",
    "stability",
    "stability_map",
    "tune",
    "work",
]

_Path = str | PathLike[str]
_Place = tuple[int, int, int]
_Floats = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

@final
class Scenario:
    """A scenario: the text of a file with what is changed in it. Immutable; pickles."""

    def __new__(
        cls,
        text: str,
        name: str = "scenario.toml",
        set: Sequence[str] = ...,
        vary: Sequence[str] = ...,
        aqm: Sequence[str] = ...,
    ) -> Self: ...
    @staticmethod
    def load(path: _Path) -> Scenario:
        """Reads a scenario file."""

    def changed(
        self, set: Sequence[str] = ..., vary: Sequence[str] = ..., aqm: Sequence[str] = ...
    ) -> Scenario:
        """The same with more changes: `PATH=VALUE` each, `PATH=VALUES` each, and disciplines in place of those compared."""

    @property
    def title(self) -> str:
        """Its title."""

    @property
    def name(self) -> str:
        """The file's name in messages."""

    @property
    def hash(self) -> str:
        """What makes two scenarios the same experiment: a hash of their cases."""

    @property
    def duration_s(self) -> float:
        """Simulated seconds of a run of its first case."""

    @property
    def aqm(self) -> list[str]:
        """What is compared, as it was written."""

    @property
    def axes(self) -> list[dict[str, str]]:
        """The point of each case on the axes."""

    def to_toml(self, case: int = 0) -> str:
        """A case with every default written out."""

    def parts(self) -> tuple[str, str, list[str], list[str], list[str]]:
        """What the program takes for it: text, name, set, vary, aqm."""

    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Table:
    """Named columns of equal length, for Arrow and numpy. Immutable; pickles."""

    def __new__(cls, columns: Sequence[tuple[str, str, bytes, bytes, Sequence[str]]]) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def column_names(self) -> list[str]:
        """The names of its columns."""

    @property
    def num_rows(self) -> int:
        """How many rows it has."""

    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> numpy.ndarray[Any, Any]: ...
    def to_dict(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """All columns by name, as numpy arrays of shape `(num_rows,)`."""

    def write_parquet(self, path: _Path) -> None:
        """Writes it as a Parquet file."""

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType:
        """The Arrow PyCapsule interface."""

@final
class Column:
    """A column of numbers that numpy looks into."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@final
class Results:
    """Finished runs. Where they are in a directory, memory holds their summaries only."""

    def __new__(
        cls,
        title: str,
        compare: str,
        runs: Sequence[bytes],
        place: tuple[_Path, Sequence[tuple[int, int, int, str]]] | None,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def to_json(self) -> str:
        """`summary.json` as text: its names are fixed."""

    def text(self) -> str:
        """The tables that the program prints."""

    @property
    def summary(self) -> Table:
        """A row per run, link and class."""

    @property
    def series(self) -> Table:
        """A row per run, link and sampling interval."""

    @property
    def flows(self) -> Table:
        """A row per run and flow."""

    def quantity(self, name: str) -> list[float]:
        """What a quantity of claims and tables is in each run; NaN where a run has none."""

    def queue_shares(self, label: str) -> list[list[float]]:
        """Share of the time that the queue had each length, from 0 on, in each run of this label."""

    @property
    def labels(self) -> list[str]:
        """The label of each run."""

    @property
    def seeds(self) -> list[int]:
        """The seed of each run."""

    @property
    def directory(self) -> Path | None:
        """Where they are; none if in memory only."""

    def __len__(self) -> int: ...

@final
class Packet:
    """A packet, as a discipline sees it. Immutable; pickles."""

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
        """Length on the wire in bytes."""

    @property
    def arrived_s(self) -> float:
        """When it was offered, in seconds."""

    @property
    def flow(self) -> int:
        """Its connection."""

    @property
    def pair(self) -> int:
        """Its source and destination."""

    @property
    def service_class(self) -> int:
        """Its service class."""

    @property
    def ecn_capable(self) -> bool:
        """May it be marked instead of dropped?"""

    @property
    def ce(self) -> bool:
        """Was it marked before?"""

    @property
    def ecn(self) -> str:
        """`not-ect`, `ect0`, `ect1` or `ce`."""

    @property
    def colour(self) -> str:
        """`in` or `out` of its profile."""

    @property
    def protocol(self) -> str:
        """`tcp` or `udp`."""

@final
class Level:
    """The queue that a packet meets, itself and the packet in transmission not counted. Immutable; pickles."""

    def __new__(cls, packets: int, bytes: int, limit_packets: float, rate_bps: float) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def packets(self) -> int:
        """Packets waiting."""

    @property
    def bytes(self) -> int:
        """Bytes waiting."""

    @property
    def limit_packets(self) -> float:
        """The buffer, in packets of mean size where it is in bytes."""

    @property
    def rate_bps(self) -> float:
        """The link's rate in bits per second."""

@final
class Sample:
    """What happened in a period of a law. Immutable; pickles."""

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
        """Its end, in seconds."""

    @property
    def dt_s(self) -> float:
        """Its length, in seconds."""

    @property
    def backlog_packets(self) -> float:
        """Packets waiting now."""

    @property
    def backlog_bytes(self) -> float:
        """Bytes waiting now."""

    @property
    def rate_bps(self) -> float:
        """The link's rate in bits per second."""

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
        """Packets dropped by the rule."""

    @property
    def dropped_overflow_packets(self) -> int:
        """Packets dropped for want of room."""

    @property
    def marked_packets(self) -> int:
        """Packets marked."""

@final
class Context:
    """Time and chance, for the length of a call."""

    @property
    def now_s(self) -> float:
        """The present, in seconds."""

    def uniform(self) -> float:
        """The next number of the discipline's own random stream, from 0 up to and without 1."""

@final
class Discipline:
    """Any discipline by itself, in front of a link, driven packet by packet. Calls of several threads wait for each other."""

    def __new__(
        cls, aqm: str, rate: str = "10mbit", queue: str = "100p", packet: int = 1500, seed: int = 1
    ) -> Self: ...
    @property
    def name(self) -> str:
        """Its name."""

    @property
    def canonical(self) -> str:
        """Name and every parameter, defaults written out."""

    @property
    def rung(self) -> str:
        """`law`, `aqm` or `queue`: what it sees."""

    def arrival(
        self,
        now: float,
        length: int,
        backlog: int,
        backlog_bytes: int | None = None,
        ecn: bool | Literal["ect0", "ect1"] = False,
        flow: int = 0,
    ) -> str:
        """A packet of `length` bytes arrives at `now`, in seconds, and meets `backlog` packets, of mean size or of
        `backlog_bytes` in all: `"accepted"`, `"marked"` or `"dropped"`. Counters see what is decided. `ecn`: see `enqueue`."""

    def enqueue(
        self,
        now: float,
        length: int,
        flow: int = 0,
        ecn: bool | Literal["ect0", "ect1"] = False,
        service_class: int = 0,
    ) -> str:
        """Offers a packet to its own queue: `"accepted"`, `"marked"` or `"dropped"`. `ecn` is its codepoint: `"ect0"`,
        `"ect1"`, `True` for ECT(0), `False` for Not-ECT."""

    def dequeue(self, now: float) -> Packet | None:
        """The next packet to send, if there is one."""

    @property
    def backlog(self) -> tuple[int, int]:
        """Packets and bytes in its queue."""

    @property
    def counts(self) -> dict[str, int]:
        """Packets so far: offered, accepted, departed, dropped_early, dropped_overflow, marked."""

    @property
    def probes(self) -> dict[str, float]:
        """Its inner state by name, as `forebay explain` lists it."""

    def __getitem__(self, name: str, /) -> str: ...
    def set(self, **values: Any) -> None:
        """Other values of parameters from now on, its state kept."""

    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Env:
    """Simulations of one scenario, stepped together on all cores. Calls of several threads wait for each other."""

    OBSERVABLE: ClassVar[tuple[str, ...]]
    """The names of what can be observed whatever the discipline."""

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
        """Begins some of them anew, each with its seed; what all look like then, a row for each."""

    def step(self, actions: _Floats) -> tuple[_Floats, numpy.ndarray[Any, numpy.dtype[numpy.bool_]]]:
        """A step of all of them: what they look like then, and which have come to their end."""

    def __reduce__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: Sequence[tuple[int, bytes, int] | None]) -> None: ...

def main(words: Sequence[str]) -> int:
    """The program `forebay` with these words; its exit code."""

def disciplines() -> list[str]:
    """The names of all built-in disciplines."""

def explain(name: str) -> str:
    """All there is to know about a name."""

def stability(scenario: Scenario, critical: bool) -> str:
    """Rest and margins of the linear loop under each discipline."""

def fluid(scenario: Scenario) -> str:
    """The course of the nonlinear loop under each discipline."""

def markov(scenario: Scenario, p: str | None = None, step: str | None = None, sigma: str | None = None) -> str:
    """The distribution of the queue at one signal probability under each discipline."""

def mmpp(scenario: Scenario) -> str:
    """The queue in the long run under datagrams that Markov chains bring."""

def stability_map(scenario: Scenario, x: str, y: str, cells: int) -> str:
    """Where the linear loop is stable, over two of its figures."""

def tune(
    scenario: Scenario,
    aqm: str,
    vary: Sequence[str],
    aims: Sequence[str],
    output: _Path,
    seeds: int,
    force: bool,
) -> str:
    """Parameters that meet aims in the model, tried in the simulator."""

def reproduce(
    names: Sequence[str],
    level: str,
    output: _Path | None = None,
    bar: Callable[[float, float], None] | None = None,
) -> str:
    """The verdicts on papers or claims; every paper if there are no names. `bar` is called with how far a paper is."""

def register(class_: type) -> None:
    """Makes a class known under its name; a class of the same name that was known before is not any more."""

def conformance(aqm: str, seed: int) -> str | None:
    """The first rule that a discipline breaks, if it breaks one."""

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
    """Runs every case under every discipline with every seed; what `output` holds already is not run again. The lock of
    `output` is that of `sweep`, if it is given."""

def work(
    scenario: Scenario, seeds: Sequence[int], places: Sequence[_Place], directory: _Path | None
) -> list[bytes | None]:
    """Does some runs of a sweep; each is kept in its directory where this process reaches that, else given as bytes."""

@final
class Sweep:
    """The directory of a sweep on which others work too: open, and locked until `run` takes it over or it is closed."""

    def __new__(cls, scenario: Scenario, seeds: Sequence[int], directory: _Path, workers: int, force: bool) -> Self:
        """Opens the directory of a sweep on which `workers` work at a time; waits for another writer."""

    @property
    def left(self) -> list[_Place]:
        """The runs that were not finished when it was opened."""

    def close(self) -> None:
        """Releases the directory."""

def bring(
    scenario: Scenario, seeds: Sequence[int], directory: _Path, brought: Sequence[tuple[_Place, bytes]]
) -> None:
    """Keeps records that `work` gave in the directory of their sweep."""
