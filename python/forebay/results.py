"""Results of runs: tables for Arrow and numpy, means with confidence intervals, plots."""

from __future__ import annotations

import functools
import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _native

if TYPE_CHECKING:
    import numpy
    from matplotlib.axes import Axes

__all__ = ["Results"]


class Results:
    """Finished runs of a scenario. They can be pickled: completely if in memory; as summaries and path if in a
    directory, whose other files are read on demand.

    The object is an Arrow table itself, that of ``summary``: ``polars.DataFrame(results)`` (or ``polars.from_arrow``, a
    series of rows), ``pyarrow.table(results)`` and ``pandas.DataFrame.from_arrow(results)`` accept it without a copy.
    """

    def __init__(self, native: _native.Results) -> None:
        self._native = native

    def __reduce__(self) -> tuple[type[Results], tuple[_native.Results]]:
        # Cached tables and dictionaries are not pickled; they can be computed again.
        return type(self), (self._native,)

    @property
    def summary(self) -> _native.Table:
        """One row per run, link and class: the columns of ``summary.parquet``."""
        return self._native.summary

    @functools.cached_property
    def series(self) -> _native.Table:
        """One row per run, link and sampling interval: ``label``, ``seed``, ``link``, ``time_s``, ``queue_pkts``,
        ``queue_mean_pkts`` and the scenario's ``report.series``; null where a discipline does not have one."""
        return self._native.series

    @functools.cached_property
    def flows(self) -> _native.Table:
        """One row per run and flow: ``label``, ``seed``, ``flow``, ``group``, ``class``, ``goodput_bytes`` (payload
        that arrived for the first time within the window), ``received_bytes`` (with headers), ``active_s``,
        ``sent_pkts``, ``retransmitted_pkts``, ``timeouts``."""
        return self._native.flows

    @property
    def traffic(self) -> _native.Table:
        """One row per run, link and class of traffic, and one for all classes: ``label``, ``aqm``, ``axes``, ``seed``,
        ``link``, ``traffic`` (the group of flows, or the number of the class), and the metrics of the first table that
        is printed, such as ``goodput_bps``, ``wait_ms_p99`` and ``fct_s_p95``; null where a class does not have one."""
        return self._native.traffic

    @functools.cached_property
    def completions(self) -> _native.Table:
        """One row per file or page that arrived after the warm-up: ``label``, ``seed``, ``flow``, ``group``, ``at_s``
        (time of arrival), ``fct_s`` (time since the request or the first packet)."""
        return self._native.completions

    @functools.cached_property
    def _document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._native.to_json())
        return found

    def to_dict(self) -> dict[str, Any]:
        """``summary.json`` as a dictionary; its keys are stable."""
        found: dict[str, Any] = json.loads(self._native.to_json())
        return found

    @property
    def runs(self) -> list[dict[str, Any]]:
        """One dictionary per run and link under study."""
        runs: list[dict[str, Any]] = self._document["runs"]
        return runs

    @property
    def compare(self) -> dict[str, Any]:
        """Means over seeds with 95 % confidence intervals, and paired differences."""
        compare: dict[str, Any] = self._document["compare"]
        return compare

    @property
    def labels(self) -> list[str]:
        """The distinct labels of the runs, in order."""
        return list(dict.fromkeys(self._native.labels))

    @property
    def directory(self) -> Path | None:
        """The directory of the results; None if in memory only."""
        return self._native.directory

    def quantity(self, name: str) -> numpy.ndarray[Any, Any]:
        """A quantity of each run, in the order of ``runs``.

        Args:
            name: As in tables and claims, e.g. ``"utilisation"`` or ``"mean(queue)@30..60"``.

        Returns:
            Shape ``(len(self),)``, float64; NaN where a run does not have it.
        """
        import numpy

        return numpy.asarray(self._native.quantity(name), dtype=numpy.float64)

    def queue_cdf(self, label: str | None = None) -> tuple[numpy.ndarray[Any, Any], numpy.ndarray[Any, Any]]:
        """The distribution of the queue length over time, over all seeds of a label (default: the first label).

        Returns:
            Lengths in packets and the fraction of time at or below each, both of shape ``(longest + 1,)``.
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
        """A column of one run's series at the first link under study (default: the first run).

        Returns:
            Times in seconds and values, both of shape ``(rows,)``.
        """
        label = self._label(label)
        series = self.series
        seed = self._native.seeds[self._native.labels.index(label)] if seed is None else seed
        mine = (series["label"] == label) & (series["seed"] == seed)
        if not mine.any():
            raise KeyError(f"no seed {seed} of {label!r}; available: {self._native.seeds}")
        mine &= series["link"] == series["link"][mine.argmax()]
        return series["time_s"][mine], series[column][mine]

    def _label(self, label: str | None) -> str:
        if label is None:
            return self.labels[0]
        if label in self.labels:
            return label
        raise KeyError(f"no label {label!r}; available: {', '.join(self.labels)}")

    def plot(self, column: str = "queue_pkts", ax: Axes | None = None) -> Axes:
        """A column of the series over time, one line per label; see `forebay.plots` for more."""
        from forebay import plots

        return plots.over_time(self, column, ax)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.summary.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._native)

    def __str__(self) -> str:
        return self._native.text()

    def _repr_html_(self) -> str:
        """The text of ``print(results)``, for notebooks."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The same text, for IPython and for readers of notebooks that show no HTML."""
        printer.text(str(self))

    def __repr__(self) -> str:
        return f"Results({len(self)} runs: {', '.join(self.labels)})"
