"""A plugin for pytest: one line for each test in the file that FOREBAY_OUTCOMES names, `outcome TAB test TAB why`."""

import os


def _tell(outcome, test, why=""):
    why = " ".join(str(why).split())
    with open(os.environ["FOREBAY_OUTCOMES"], "a", encoding="utf-8") as file:
        file.write(f"{outcome}\t{test}\t{why}\n")


def _why(report):
    place = report.longrepr
    return place[2] if isinstance(place, tuple) else getattr(place, "reprcrash", None) and place.reprcrash.message or place


def pytest_runtest_logreport(report):
    expected = getattr(report, "wasxfail", None)
    if report.failed:
        _tell("failed", report.nodeid, _why(report))
    elif report.skipped:
        _tell("skipped", report.nodeid, _why(report) if expected is None else f"is expected to fail: {expected}")
    elif report.when == "call":
        _tell(*("passed", report.nodeid) if expected is None else ("failed", report.nodeid, "was expected to fail"))


def pytest_collectreport(report):
    if report.failed:
        _tell("failed", report.nodeid, _why(report))
    elif report.skipped:
        # It hides how many tests there are.
        _tell("failed", report.nodeid, f"is skipped as a whole, not test by test: {_why(report)}")
