"""Runs: identical to those of the program, and errors."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy
import pytest

import forebay
from conftest import CASE_1, dumbbell


def program(*words: str, cwd: Path, **options: object) -> subprocess.CompletedProcess[str]:
    """The console command."""
    command = [sys.executable, "-m", "forebay", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def without_time(runs: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{name: value for name, value in run.items() if name != "cpu_seconds"} for run in runs]


def test_python_runs_equal_those_of_the_program(tmp_path: Path, short: forebay.Scenario) -> None:
    file = tmp_path / "case.toml"
    file.write_text(short.to_toml())
    told = program("run", str(file), "--aqm", "raqm q0=50", "--aqm", "droptail", "--runs", "2", "--json", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    here = forebay.run(file, aqm=["raqm q0=50", "droptail"], seeds=2)
    assert without_time(here.runs) == without_time(document["runs"])
    assert here.compare["cases"][0]["contenders"][0]["mean"] == document["compare"]["cases"][0]["contenders"][0]["mean"]
    # The number of threads changes nothing.
    assert without_time(forebay.run(file, aqm=["raqm q0=50", "droptail"], seeds=2, jobs=1).runs) == without_time(here.runs)


def test_both_directions_run_the_disciplines(tmp_path: Path, short: forebay.Scenario) -> None:
    file = tmp_path / "case.toml"
    file.write_text(short.to_toml())
    words = ["run", str(file), "--aqm", "codel", "--both-directions", "--runs", "1", "--json"]
    told = program(*words, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    here = forebay.run(file, aqm="codel", both_directions=True)
    assert without_time(here.runs) == without_time(json.loads(told.stdout)["runs"])
    both = forebay.scenarios.read(short, aqm="codel", both_directions=True)
    assert pickle.loads(pickle.dumps(both)).hash == both.hash != forebay.scenarios.read(short, aqm="codel").hash


def test_results_are_tables_of_numpy_columns(short: forebay.Scenario) -> None:
    results = forebay.run(short, seeds=[3, 5])
    assert len(results) == 4 and results.labels == ["raqm q0=50", "droptail"]
    summary = results.summary
    assert summary["seed"].tolist() == [3, 3, 5, 5] and summary["seed"].dtype == numpy.int64
    mean = summary["queue_pkts_mean"]
    assert mean.dtype == numpy.float64 and mean.tolist() == [run["queue_pkts"]["mean"] for run in results.runs]
    # A read-only view of the table's memory.
    assert mean.base is not None and not mean.flags.writeable and not mean.flags.owndata
    assert numpy.shares_memory(mean, summary["queue_pkts_mean"])
    del summary
    assert (mean > 0).all(), "the view keeps its memory"
    with pytest.raises(KeyError, match="queue_pkts_mean"):
        results.summary["queue"]
    series = results.series
    assert series.num_rows == len(results) * 1000 and set(series["label"]) == set(results.labels)
    assert results.flows.num_rows == len(results) * 10
    time_s, queue = results.over_time(label="droptail", seed=5)
    assert time_s.shape == queue.shape == (1000,) and time_s[-1] == pytest.approx(4.0)
    length, share = results.queue_cdf("droptail")
    assert length.shape == share.shape and share[-1] == pytest.approx(1.0) and (numpy.diff(share) >= 0).all()
    assert results.quantity("utilisation").tolist() == [run["utilisation"] for run in results.runs]
    assert "raqm q0=50" in str(results) and "±" in str(results)


def test_arrow_reads_tables_without_a_copy(short: forebay.Scenario) -> None:
    pandas, polars, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    results = forebay.run(short)
    frame = polars.DataFrame(results)
    assert frame.columns == results.summary.column_names and frame.height == 2
    assert polars.from_arrow(results).struct.unnest().equals(frame)
    table = pyarrow.table(results.series)
    ours = results.series["queue_pkts"]
    theirs = table.column("queue_pkts").chunk(0).to_numpy(zero_copy_only=True)
    assert theirs.ctypes.data == ours.ctypes.data, "the same memory"
    place = table.schema.get_field_index("queue_pkts")
    narrow = table.schema.set(place, pyarrow.field("queue_pkts", pyarrow.float32()))
    assert pyarrow.table(results.series, schema=narrow).equals(table.cast(narrow)), "the consumer casts"
    assert pandas.DataFrame.from_arrow(results)["label"].tolist() == ["raqm q0=50", "droptail"]


def test_table_is_written_as_parquet_file(tmp_path: Path, short: forebay.Scenario) -> None:
    polars = pytest.importorskip("polars")
    results = forebay.run(short)
    results.summary.write_parquet(tmp_path / "summary.parquet")
    assert polars.read_parquet(tmp_path / "summary.parquet").equals(polars.DataFrame(results))


def test_errors_are_those_of_the_program(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(CASE_1.read_text().replace("bottleneck", "botleneck"))
    with pytest.raises(forebay.ScenarioError) as raised:
        forebay.run(file)
    told = program("run", str(file), cwd=tmp_path)
    assert told.returncode == 2 and str(raised.value) in told.stderr
    error = raised.value
    assert error.line and error.hint and "bottleneck" in error.hint and error.file == str(file)
    with pytest.raises(forebay.ScenarioError, match="did you mean raqm"):
        forebay.run(CASE_1, aqm="raqn")
    with pytest.raises(forebay.ScenarioError, match="no such file"):
        forebay.run(tmp_path / "none.toml")


def test_existing_directory_is_continued(tmp_path: Path, short: forebay.Scenario) -> None:
    first = forebay.run(short, seeds=1, output=tmp_path / "out")
    shard = next((tmp_path / "out" / "runs").iterdir())
    before = shard.stat().st_mtime_ns
    again = forebay.run(short, seeds=2, output=tmp_path / "out")
    assert shard.stat().st_mtime_ns == before, "not run again"
    assert without_time(again.runs[:2]) == without_time(first.runs) and len(again) == 4
    assert (tmp_path / "out" / "summary.parquet").exists() and again.series.num_rows == 4000
    other = forebay.read(short, set={"duration": "5s"})
    with pytest.raises(forebay.StoreError, match="another scenario"):
        forebay.run(other, output=tmp_path / "out")


LONG = """
import forebay, sys, pathlib
class Slow(forebay.Law):
    name = "slow"
    period = 0.001
    def update(self, sample):
        return 0.01
print("begun", flush=True)
try:
    forebay.run(sys.argv[1], aqm=["slow", "raqm"], set={"duration": "20000s"}, seeds=8, output=sys.argv[2], progress=False)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(len(forebay.run(sys.argv[1], set={"duration": "4s", "warmup": "1s", "flows.ftp.count": 9}, aqm="slow")), flush=True)
"""


def test_ctrl_c_ends_the_run_not_the_process(tmp_path: Path) -> None:
    words = [sys.executable, "-c", LONG, str(CASE_1), str(tmp_path / "out")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(2)
        os.kill(process.pid, signal.SIGINT)
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        assert process.stdout.read() == "interrupted\n1\n"
        watchdog.cancel()
    assert process.returncode == 0


ENDLESS = """
import forebay, sys
class Endless(forebay.Law):
    name, period = "endless", 0.01
    def start(self, rate_bps, limit_packets, mean_packet):
        self.loop("start")
    def update(self, sample):
        self.loop("update")
        return 0.0
    def loop(self, where):
        if where == sys.argv[2]:
            print("begun", flush=True)
            while True:
                pass
try:
    forebay.run(sys.argv[1], aqm=Endless, progress=False, jobs=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("where", ["start", "update"])
def test_ctrl_c_interrupts_an_endless_python_loop(tmp_path: Path, where: str) -> None:
    words = [sys.executable, "-c", ENDLESS, str(CASE_1), where]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"
        watchdog.cancel()
    assert process.returncode == 0


def test_scenarios_can_be_built_from_objects(short: forebay.Scenario) -> None:
    built = forebay.build(
        title="built",
        duration="4s",
        warmup="1s",
        packet=500,
        topology=dumbbell(forebay.Access(hosts=5, rate="10mbit", delays=["10ms"], more={"queue": "10000p"})),
        flows=[forebay.Flows(kind="ftp", count=10, tcp="newreno", start={"uniform": ["0s", "1s"]})],
        aqm=["raqm q0=50"],
        series=["raqm.p"],
        vary={"flows.ftp.count": [5, 10]},
    )
    assert built.axes == [{"flows.ftp.count": "5"}, {"flows.ftp.count": "10"}]
    results = forebay.run(built)
    assert len(results) == 2 and (results.series["raqm.p"] > 0).any()
    with pytest.raises(forebay.ScenarioError, match="did you mean queue"):
        forebay.build(
            duration="1s",
            topology={"kind": "dumbbell", "bottleneck": {"rate": "1mbit", "delay": "1ms", "quue": "9p"}},
            flows=[],
        )


def test_flows_send_the_requested_ecn_codepoint() -> None:
    built = forebay.build(
        duration="4s",
        packet=500,
        topology=forebay.Dumbbell(
            bottleneck=forebay.Bottleneck(rate="10mbit", delay="10ms", queue="100p"),
            access=forebay.Access(hosts=2, rate="10mbit", delays=["10ms"]),
            egress=forebay.Egress(rate="10mbit", delay="10ms"),
        ),
        flows=[
            forebay.Flows(kind="ftp", tcp="dctcp", l4s=True),
            forebay.Flows(kind="cbr", rate="1mbit", ecn="ect0"),
        ],
        aqm=["dualpi2"],
        series=["dualpi2.sent_l", "dualpi2.sent_c"],
    )
    for path, ecn, used in [
        ("flows.cbr.ecn", "ect0", [True, True]),
        ("flows.cbr.ecn", "ect1", [True, False]),
        ("flows.*.ecn", "ect0", [False, True]),
    ]:
        series = forebay.run(built, set={path: ecn}).series
        assert [series[f"dualpi2.sent_{queue}"][-1] > 0 for queue in ("l", "c")] == used, (path, ecn)
    with pytest.raises(forebay.ScenarioError, match='true, false, "ect0" or "ect1"'):
        forebay.read(built, set={"flows.cbr.ecn": "ect2"})


def test_the_console_command_is_the_program(tmp_path: Path) -> None:
    assert program("--version", cwd=tmp_path).stdout.startswith("forebay ")
    told = program("run", "none.toml", cwd=tmp_path)
    assert told.returncode == 2 and "no such file" in told.stderr
    listed = json.loads(program("list", "disciplines", "--json", cwd=tmp_path).stdout)
    assert [one["name"] for one in listed["disciplines"]] == forebay.disciplines()


def test_import_loads_no_large_packages() -> None:
    code = "import sys, forebay; print([m for m in ('numpy', 'matplotlib', 'gymnasium', 'ray', 'asyncio') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
