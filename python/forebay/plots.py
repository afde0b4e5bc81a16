"""Figures of results with matplotlib. Each function draws on ``ax`` (default: a new one) and returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from matplotlib.axes import Axes

    from forebay.results import Results

__all__ = ["cdf", "ellipses", "over_time", "stability_map"]


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def _names(results: Results) -> dict[str, str]:
    """Legend labels; without the axis values if all runs have the same."""
    cases = {label[label.find(" [") :] if label.endswith("]") and " [" in label else "" for label in results.labels}
    point = cases.pop() if len(cases) == 1 else ""
    return {label: label.removesuffix(point) if point else label for label in results.labels}


def over_time(results: Results, column: str = "queue_pkts", ax: Axes | None = None) -> Axes:
    """A column of the series over time, one line per discipline and case; first seed only."""
    ax = _axes(ax)
    for label, name in _names(results).items():
        time_s, values = results.over_time(column, label)
        if (values == values).any():
            ax.plot(time_s, values, linewidth=0.8, label=name)
    names = {"queue_pkts": "queue, packets", "queue_mean_pkts": "mean queue, packets"}
    ax.set(xlabel="time, s", ylabel=names.get(column, column))
    ax.margins(x=0)
    ax.legend()
    return ax


def cdf(results: Results, ax: Axes | None = None) -> Axes:
    """The distribution of the queue length over time, over all seeds."""
    ax = _axes(ax)
    for label, name in _names(results).items():
        length, share = results.queue_cdf(label)
        ax.step(length, share, where="post", label=name)
    ax.set(xlabel="queue, packets", ylabel="fraction of time at or below", ylim=(0, 1.01))
    ax.legend(loc="lower right")
    return ax


def ellipses(results: Results, ax: Axes | None = None, sigmas: float = 1.0) -> Axes:
    """Goodput over mean waiting time, with an ellipse of ``sigmas`` standard deviations over seeds per discipline.
    Better is to the upper right, as in the reports of Pantheon and RemyCC."""
    import numpy
    from matplotlib.patches import Ellipse

    ax = _axes(ax)
    for i, (label, name) in enumerate(_names(results).items()):
        mine = [run for run in results.runs if run["label"] == label and run["sojourn_ms"]]
        if not mine:
            continue
        points = numpy.array([[run["sojourn_ms"]["mean"], run["goodput_bps"] * 1e-6] for run in mine]).reshape(-1, 2)
        colour = f"C{i % 10}"
        ax.scatter(points[:, 0], points[:, 1], s=10, color=colour, label=name)
        centre = points.mean(axis=0)
        if len(points) > 1:
            values, vectors = numpy.linalg.eigh(numpy.cov(points.T))
            width, height = 2 * sigmas * numpy.sqrt(numpy.maximum(values[::-1], 0))
            angle = numpy.degrees(numpy.arctan2(*vectors[::-1, 1]))
            ax.add_patch(Ellipse(tuple(centre), width, height, angle=angle, color=colour, alpha=0.25))
    if not ax.xaxis_inverted():
        ax.invert_xaxis()
    ax.set(xlabel="mean waiting time, ms (axis reversed)", ylabel="goodput, Mb/s")
    ax.legend()
    return ax


def stability_map(found: dict[str, Any], ax: Axes | None = None) -> Axes:
    """A map of `forebay.theory.stability_map`: delay margin where the loop is stable, red where it is unstable, white
    where there is no equilibrium."""
    import numpy

    ax = _axes(ax)
    stable: numpy.ndarray[Any, Any] = found["stable"]
    margins = numpy.where(stable == 1, found["delay_margin_ms"], numpy.nan)
    unstable = numpy.where(stable == 0, 1.0, numpy.nan)
    ax.pcolormesh(found["x"], found["y"], unstable, cmap="Reds", vmin=0.0, vmax=4.0)
    mesh = ax.pcolormesh(found["x"], found["y"], margins, cmap="viridis", norm="log" if (margins > 0).any() else None)
    ax.figure.colorbar(mesh, ax=ax, label="delay margin, ms")
    if (stable == 0).any() and (stable == 1).any():
        ax.contour(found["x"], found["y"], stable, levels=[0.5], colors="black", linewidths=1)
    names = {"flows": "flows", "rtt_s": "round trip without queueing, s", "rate_bps": "rate, b/s"}
    ax.set(xscale="log", yscale="log", xlabel=names[found["x_name"]], ylabel=names[found["y_name"]])
    return ax
