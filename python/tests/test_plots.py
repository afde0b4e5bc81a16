"""Plots show the data."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

import forebay
from conftest import REPOSITORY
from forebay import plots, theory

if find_spec("matplotlib"):
    import matplotlib

    matplotlib.use("Agg")

pytestmark = pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")


def test_plots_of_results_have_lines_and_labels(short: forebay.Scenario) -> None:
    results = forebay.run(short, seeds=3)
    trajectory = results.plot()
    assert [line.get_label() for line in trajectory.get_lines()] == results.labels
    assert len(trajectory.get_lines()[0].get_xdata()) == 1000 and trajectory.get_ylabel() == "queue, packets"
    assert len(plots.cdf(results).get_lines()) == 2
    ellipses = plots.ellipses(results)
    assert len(ellipses.patches) == 2 and ellipses.xaxis_inverted()
    assert not plots.ellipses(forebay.run(short)).patches, "one seed has no spread"
    one_case = forebay.run(short, vary={"flows.ftp.count": [5]})
    assert one_case.plot().get_legend().get_texts()[0].get_text() == "raqm q0=50", "what all share is left out"
    matplotlib.pyplot.close("all")


def test_stability_map_is_drawn() -> None:
    design = REPOSITORY / "examples" / "pi-design.toml"
    for cells, aqm in ((8, "pi a=1.822e-5 b=1.816e-5 w=170 q_ref=200"), (3, "raqm_plus q0=100")):
        ax = plots.stability_map(theory.stability_map(design, "flows=5..250", "rtt=40ms..1s", aqm=aqm, cells=cells))
        assert ax.get_xlabel() == "flows" and ax.get_ylabel().startswith("round trip")
    matplotlib.pyplot.close("all")
