"""Fixtures: a short scenario, and paths of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

import forebay

REPOSITORY = Path(__file__).parents[2]
CASE_1 = REPOSITORY / "papers" / "raqm" / "case-1.toml"


def dumbbell(access: forebay.Access) -> forebay.Dumbbell:
    """RAQM's case 1 with these senders' links."""
    return forebay.Dumbbell(
        bottleneck=forebay.Bottleneck(rate="10mbit", delay="10ms", queue="100p"),
        access=access,
        egress=forebay.Egress(rate="10mbit", delay="10ms"),
    )


@pytest.fixture(scope="session")
def short() -> forebay.Scenario:
    """RAQM's case 1 with ten flows for four seconds."""
    return forebay.build(
        title="short",
        duration="4s",
        warmup="1s",
        packet=500,
        topology=dumbbell(forebay.Access(hosts=5, rate="10mbit", delays=["10ms"], queue="10000p", jitter="10us")),
        flows=[forebay.Flows(kind="ftp", count=10, tcp="newreno", start={"uniform": ["0s", "1s"]})],
        aqm=["raqm q0=50", "droptail"],
    )
