"""What runs have found: tables for Arrow and numpy, means with intervals, pictures."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _native

if TYPE_CHECKING:
    import numpy
    from matplotlib.axes import Axes

__all__ = ["Results"]


class Results:
    """Finished runs of a scenario. They pickle: those in memory as they are, those in a directory by their summaries and the
    directory's path, where the rest is read when it is asked for.

    It is itself a table for Arrow, that of ``summary``: ``polars.DataFrame(results)`` (or ``polars.from_arrow``, a series of
    rows), ``pyarrow.table(results)`` and ``pandas.DataFrame.from_arrow(results)`` take it without a copy.
    """

    def __init__(self, native: _native.Results) -> None:
        self._native = native

    def __reduce__(self) -> tuple[type[Results], tuple[_native.Results]]:
        # Without the tables and dictionaries that it has been asked for: they come again.
        return type(self), (self._native,)

    @property
    def summary(self) -> _native.Table:
        """A row per run, link and class: the columns of ``summary.parquet``."""
        return self._native.summary

    @functools.cached_property
    def series(self) -> _native.Table:
        """A row per run, link and sampling interval: ``label``, ``seed``, ``link``, ``time_s``, ``queue_pkts``,
        ``queue_mean_pkts`` and what the scenario's ``report.series`` asks for, null where a discipline does not have it."""
        return self._native.series

    @functools.cached_property
    def flows(self) -> _native.Table:
        """A row per run and flow: ``label``, ``seed``, ``flow``, ``group``, ``class``, ``goodput_bytes`` (payload that
        arrived for the first time within the window), ``received_bytes`` (with headers), ``active_s``, ``sent_pkts``, ``retransmitted_pkts``, ``timeouts``."""
        return self._native.flows

    @functools.cached_property
    def _document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._native.to_json())
        return found

    def to_dict(self) -> dict[str, Any]:
        """``summary.json`` as a dictionary: its names are fixed."""
        found: dict[str, Any] = json.loads(self._native.to_json())
        return found

    @property
    def runs(self) -> list[dict[str, Any]]:
        """A dictionary per run and link under study."""
        runs: list[dict[str, Any]] = self._document["runs"]
        return runs

    @property
    def compare(self) -> dict[str, Any]:
        """Means over seeds with 95 % confidence intervals, and paired differences."""
        compare: dict[str, Any] = self._document["compare"]
        return compare

    @property
    def labels(self) -> list[str]:
        """What was compared, in order, each once."""
        return list(dict.fromkeys(self._native.labels))

    @property
    def directory(self) -> Path | None:
        """Where the results are; none if in memory only."""
        return self._native.directory

    def quantity(self, name: str) -> numpy.ndarray[Any, Any]:
        """A quantity of each run, in the order of ``runs``.

        Args:
            name: As tables and claims have it, such as ``"utilisation"`` or ``"mean(queue)@30..60"``.

        Returns:
            Shape ``(len(self),)``, float64, NaN where a run has none.
        """
        import numpy

        return numpy.asarray(self._native.quantity(name), dtype=numpy.float64)

    def queue_cdf(self, label: str | None = None) -> tuple[numpy.ndarray[Any, Any], numpy.ndarray[Any, Any]]:
        """The distribution of the queue over time, over all seeds of what has this label; the first if not given.

        Returns:
            Lengths in packets and the share of the time at or below each, both of shape ``(longest + 1,)``.
        """
        import numpy

        label = self._label(label)
        each = self._native.queue_shares(label)
        shares = numpy.zeros(max(map(len, each)))
        for run in each:
            shares[: len(run)] += run
        return numpy.arange(len(shares)), numpy.cumsum(shares) / len(each)

    def over_time(self, column: str = "queue_pkts", label: str | None = None, seed: int | None = None) -> tuple[
        numpy.ndarray[Any, Any], numpy.ndarray[Any, Any]
    ]:
        """A column of one run's series at the first link under study, the first run's if not given.

        Returns:
            Times in seconds and values, both of shape ``(rows,)``.
        """
        label = self._label(label)
        series = self.series
        seed = self._native.seeds[self._native.labels.index(label)] if seed is None else seed
        mine = (series["label"] == label) & (series["seed"] == seed)
        if not mine.any():
            raise KeyError(f"seed {seed} of {label!r}; there are {self._native.seeds}")
        mine &= series["link"] == series["link"][mine.argmax()]
        return series["time_s"][mine], series[column][mine]

    def _label(self, label: str | None) -> str:
        if label is None:
            return self.labels[0]
        if label in self.labels:
            return label
        raise KeyError(f"{label!r}; there are {', '.join(self.labels)}")

    def plot(self, column: str = "queue_pkts", ax: Axes | None = None) -> Axes:
        """A column of the series over time, a line for each of what is compared; `forebay.plots` has more."""
        from forebay import plots

        return plots.over_time(self, column, ax)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.summary.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._native)

    def __str__(self) -> str:
        return self._native.text()

    def __repr__(self) -> str:
        return f"Results({len(self)} runs: {', '.join(self.labels)})"
