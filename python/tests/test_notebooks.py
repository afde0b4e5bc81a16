"""The notebooks have outputs, and give them again. With FOREBAY_BLESS=1 the outputs are written instead of compared."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "examples" / "notebooks").glob("*.ipynb"))
LARGEST = 150_000
"""Size of a file, in bytes."""
METADATA = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
TEXT = {"text/plain", "text/html"}

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def needed(*packages: str) -> None:
    """Skips the test if a package is missing."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


def read(path: Path) -> Any:
    """The notebook of a file."""
    needed("nbformat")
    import nbformat

    return nbformat.read(path, as_version=4)


def codes(book: Any) -> list[Any]:
    """Its cells with code."""
    return [cell for cell in book.cells if cell.cell_type == "code"]


def texts(cell: Any) -> list[dict[str, str]]:
    """The outputs of a cell: text by kind. Of a figure only its kind: its bytes depend on matplotlib and its fonts."""
    streams = [{one.name: one.text} if "text" in one else dict(one.get("data", {"error": ""})) for one in cell.outputs]
    return [{kind: text if "/" not in kind or kind in TEXT else "" for kind, text in one.items()} for one in streams]


def executed(path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The notebook after execution in a new kernel, without what depends on the machine and on the user."""
    book = read(path)
    source = "\n".join(cell.source for cell in codes(book))
    needed("nbclient", "ipykernel", "matplotlib", "tqdm", *re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE))
    import nbclient

    (place / "matplotlibrc").write_text("figure.dpi: 72\nfigure.figsize: 6.4, 3.6\n")
    monkeypatch.setenv("MATPLOTLIBRC", str(place / "matplotlibrc"))
    monkeypatch.setenv("IPYTHONDIR", str(place))
    monkeypatch.setenv("TQDM_DISABLE", "1")
    client = nbclient.NotebookClient(
        book,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    del book.metadata["language_info"]
    for cell in codes(book):
        # Ray and tqdm write to stderr if the disk is almost full, a port is taken or ipywidgets is missing.
        cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr" or "forebay" in one.text]
    return book


@each
def test_notebook_reproduces_its_committed_outputs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = executed(path, tmp_path, monkeypatch)
    if os.environ.get("FOREBAY_BLESS"):
        import nbformat

        nbformat.write(book, path)
    for kept, now in zip(codes(read(path)), codes(book), strict=True):
        assert texts(now) == texts(kept), "if this is intended: cargo xtask notebooks"


def shows(source: str) -> bool:
    """Whether a cell prints, or ends with an expression that has a value."""
    last = ast.parse(source).body[-1]
    return "print(" in source or isinstance(last, ast.Expr) and not ast.unparse(last).startswith("check_aqm(")


@each
def test_committed_notebook_has_outputs(path: Path) -> None:
    book = read(path)
    assert path.stat().st_size <= LARGEST and book.metadata == METADATA
    assert [cell.execution_count for cell in codes(book)] == list(range(1, len(codes(book)) + 1))
    assert not any(cell.metadata for cell in book.cells), "no times of execution"
    for cell in codes(book):
        outputs = texts(cell)
        assert bool(outputs) == shows(cell.source), cell.source
        kinds = {kind for output in outputs for kind in output}
        assert kinds <= {"stdout", "image/png", *TEXT}, "no errors, warnings or progress bars"
        assert "plot" not in cell.source.splitlines()[-1] or "image/png" in kinds
        shown = "\n".join(text for output in outputs for text in output.values())
        assert not [place for place in (tempfile.gettempdir(), str(Path.home()), str(REPOSITORY)) if place in shown]
