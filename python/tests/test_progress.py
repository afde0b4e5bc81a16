"""The progress bar: one for each call, closed at its end."""

from __future__ import annotations

import io
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import forebay
from forebay import _progress

LONG = {"duration": "800s"}
"""Seconds of work: the bar is drawn several times."""


class Terminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


class Notebook(io.StringIO):
    """The stderr of a notebook's kernel."""

    __module__ = "ipykernel.iostream"


class Fake:
    """Records what is done to a bar of tqdm."""

    made: list[Fake] = []

    def __init__(self, **options: Any) -> None:
        self.options, self.n, self.closed = options, 0.0, 0
        self.totals = [options["total"]]
        Fake.made.append(self)

    def update(self, n: float) -> None:
        assert n >= 0 and not self.closed
        self.n += n

    def reset(self, total: float) -> None:
        assert not self.closed
        self.n = 0.0
        self.totals.append(total)

    def close(self) -> None:
        self.closed += 1

    @property
    def share(self) -> float:
        """The last amount shown."""
        return self.n / self.totals[-1]


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Fake]:
    """The bars made from now on, on a terminal, by a module that replaces tqdm."""
    use(monkeypatch, Fake)
    look(monkeypatch, Terminal())
    monkeypatch.setattr(Fake, "made", [])
    return Fake.made


def look(monkeypatch: pytest.MonkeyPatch, stderr: io.StringIO) -> None:
    """Gives the bars this stderr. pytest replaces that of the process."""
    monkeypatch.setattr(_progress, "sys", SimpleNamespace(stderr=stderr))


def use(monkeypatch: pytest.MonkeyPatch, kind: type[Fake]) -> None:
    auto = ModuleType("tqdm.auto")
    auto.tqdm = kind  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)


def test_each_call_has_one_bar(bars: list[Fake], short: forebay.Scenario) -> None:
    for calls in (1, 2):
        forebay.run(short, seeds=3)
        assert len(bars) == calls
    assert all(bar.closed == 1 and bar.share == 1 and bar.options["leave"] is None for bar in bars)


def test_a_sweep_has_one_bar(bars: list[Fake], short: forebay.Scenario, tmp_path: Path) -> None:
    vary = {"flows.ftp.count": [5, 10]}
    forebay.sweep(short, vary=vary, output=tmp_path / "alone")
    with ThreadPoolExecutor(2) as executor:
        forebay.sweep(short, vary=vary, output=tmp_path / "shared", executor=executor)
    # All runs exist.
    forebay.sweep(short, vary=vary, output=tmp_path / "shared")
    assert [(bar.closed, bar.share) for bar in bars] == [(1, 1)] * 3


def test_a_bar_begins_again_with_each_batch(bars: list[Fake]) -> None:
    with _progress.Bars() as batches:
        for done, total in [(0.0, 0.0), (0.0, 10.0), (5.0, 10.0), (0.0, 20.0), (15.0, 20.0)]:
            batches(done, total)
    (bar,) = bars
    assert bar.totals == [10, 20] and bar.closed == 1 and bar.share == 1


def test_notebook_removes_the_bar_at_the_end(
    bars: list[Fake], short: forebay.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(monkeypatch, Notebook())
    forebay.run(short)
    assert [bar.options["leave"] for bar in bars] == [False] and bars[0].closed == 1


def test_no_bar_in_files_unless_requested(
    bars: list[Fake], short: forebay.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    forebay.run(short, progress=False)
    file = io.StringIO()
    look(monkeypatch, file)
    forebay.run(short)
    assert not bars and file.getvalue() == ""
    forebay.run(short, progress=True)
    assert len(bars) == 1


def test_an_exception_closes_the_bar(bars: list[Fake], short: forebay.Scenario, tmp_path: Path) -> None:
    class Falls(forebay.Law):
        name, period = "falls", "1s"

        def update(self, sample: forebay.Sample) -> float:
            raise ArithmeticError("falls")

    for call in (forebay.run, forebay.sweep):
        with pytest.raises(ArithmeticError, match="falls"):
            call(short, aqm=Falls, output=tmp_path / call.__name__)
    with pytest.raises(forebay.StoreError, match="another scenario"):
        forebay.run(short, output=tmp_path / "run")
    assert [bar.closed for bar in bars] == [1, 1, 1] and all(bar.share < 1 for bar in bars)


def test_an_interrupt_closes_the_bar(
    bars: list[Fake], short: forebay.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Fake):
        """Ctrl-C at the third drawing."""

        def update(self, n: float) -> None:
            super().update(n)
            self.drawn = getattr(self, "drawn", 0) + 1
            if self.drawn == 3:
                signal.raise_signal(signal.SIGINT)

    use(monkeypatch, Interrupted)
    with pytest.raises(KeyboardInterrupt):
        forebay.run(short, set=LONG)
    assert [bar.closed for bar in bars] == [1] and bars[0].share < 1


def test_without_tqdm_progress_is_text(
    short: forebay.Scenario, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    forebay.run(short, set=LONG, progress=True)
    shown = capsys.readouterr().err
    assert "%" in shown and "left" in shown and shown.endswith(" \r"), "erased"
    forebay.run(short, set=LONG)
    assert capsys.readouterr().err == "", "no progress bar without a terminal"


def test_the_bar_of_tqdm_ends_at_100_percent(
    short: forebay.Scenario, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tqdm")
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    forebay.run(short, set=LONG, progress=True)
    shown = capsys.readouterr().err
    drawn = shown.split("\r")
    assert len(drawn) > 2 and drawn[-1].startswith("100%|") and shown.count("\n") == 1 and shown.endswith("\n")
    assert not [thread for thread in threading.enumerate() if "tqdm" in type(thread).__module__.lower()], "no monitor"
    forebay.run(short, progress=True)
    assert capsys.readouterr().err == "", "too short to show"


CELL = """
import forebay
for seed in (1, 2, 3):
    forebay.run({scenario!r}, set={{"duration": "800s"}}, seeds=[seed])
print("done")
"""


def test_calls_in_one_cell_leave_no_bar(
    short: forebay.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("tqdm")
    pytest.importorskip("ipykernel")
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    file = tmp_path / "short.toml"
    file.write_text(short.to_toml())
    v4 = nbformat.v4
    book = v4.new_notebook(cells=[v4.new_code_cell(CELL.format(scenario=str(file)))])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    outputs = [output.get("data", output.get("text")) for output in book.cells[0].outputs]
    assert outputs == [{"text/plain": ""}] * 3 + ["done\n"], "each call had one bar, which is gone"
