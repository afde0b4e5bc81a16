"""The chapters and examples do what their texts say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPOSITORY


@pytest.mark.parametrize("page", ["quick-start", "tutorial"])
def test_python_code_of_a_chapter_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    text = (REPOSITORY / "docs" / f"{page}.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    for scenario in re.findall(r"```toml\n(.*?)```", text, re.DOTALL):
        (tmp_path / "first.toml").write_text(scenario)
    (tmp_path / "papers").symlink_to(REPOSITORY / "papers")
    (tmp_path / "chapter.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    done = subprocess.run([sys.executable, "chapter.py"], capture_output=True, text=True, env=dict(os.environ, MPLBACKEND="Agg"))
    assert done.returncode == 0, done.stderr
    assert [picture for picture in tmp_path.glob("*.png") if picture.stat().st_size > 10_000]


def test_example_policy_learns_to_beat_pi() -> None:
    script = REPOSITORY / "examples" / "learn_an_aqm.py"
    told = [
        subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout for _ in range(2)
    ]
    assert told[0] == told[1], "reproducible"
    assert told[0].splitlines()[-1].startswith("the policy beats PI")


def test_example_sender_learns_to_beat_the_others(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    script, curve = str(REPOSITORY / "examples" / "learn_a_sender.py"), tmp_path / "curve.svg"
    command = [sys.executable, script, "--plot", str(curve)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert told[-1].startswith("the policy beats bbr, the best of the others"), told
    medians = [float(line.split()[3].rstrip(",")) for line in told if line.startswith("round")]
    assert len(medians) == 15 and medians[-1] > medians[0] + 0.5, medians
    # The picture in docs/python.md is of this run.
    page = (REPOSITORY / "docs" / "python.md").read_text()
    assert f"reward {medians[0]:.2f}" in page and f"reward {medians[-1]:.2f}" in page
    assert curve.stat().st_size > 10_000
