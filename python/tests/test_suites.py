"""`forebay.evaluate`: a suite in this process and on an executor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import forebay
from executors import EXECUTORS

SCENARIO = """version = 1
duration = "6s"
warmup = "1s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "5mbit", delay = "10ms", queue = "50p" }
access = { rate = "100mbit", delays = ["1ms"] }
egress = { rate = "100mbit", delay = "1ms" }
[[flows]]
name = "bulk"
kind = "ftp"
count = 4
[compare]
aqm = ["droptail"]
"""

CLAIMS = """version = 1
paper = "mine"
title = "My suite"
authors = "me"
aqm = ["codel", "pie"]
baseline = "droptail"
[[section]]
id = "few"
title = "A few flows"
scenario = "few"
text = "Bulk flows."
[[claim]]
id = "M-1"
section = "few"
claim = "The queue is shorter than with drop-tail."
printed = "ours"
[[claim.check]]
what = "mean queue"
quantity = "queue_pkts.mean"
less_than = "droptail"
"""


def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "claims.toml").write_text(CLAIMS)
    (folder / "few.toml").write_text(SCENARIO)
    return folder


@pytest.mark.parametrize("name", EXECUTORS)
def test_every_executor_gives_the_same_verdicts(name: str, tmp_path: Path) -> None:
    folder = suite(tmp_path)
    here = forebay.evaluate(folder, level="quick", output=tmp_path / "here")
    [claim] = here["claims"]
    assert claim["verdict"] == "reproduced" and claim["evidence"]["subject"] == "codel"
    assert [variant["name"] for variant in claim["evidence"]["variants"]] == ["pie"]
    for executor in EXECUTORS[name]():
        there = forebay.evaluate(folder, level="quick", output=tmp_path / "there", executor=executor)

    def checks(found: dict[str, Any]) -> str:
        return json.dumps([claim["evidence"] for claim in found["claims"]])

    assert checks(there) == checks(here)
    assert list((tmp_path / "there").glob("*/shards/*.parquet")), "the executor's runs"
    assert (tmp_path / "there" / "report.html").exists()


def test_disciplines_can_be_chosen(tmp_path: Path) -> None:
    found = forebay.evaluate(suite(tmp_path), "M-1", aqm="fq_codel", level="quick", output=tmp_path / "out")
    assert found["claims"][0]["evidence"]["subject"] == "fq_codel"


def test_bad_suites_are_refused(tmp_path: Path) -> None:
    with pytest.raises(forebay.ScenarioError, match="l4s"):
        forebay.evaluate("l5s")
    with pytest.raises(forebay.ScenarioError, match="M-1"):
        forebay.evaluate(suite(tmp_path), "M-2")
