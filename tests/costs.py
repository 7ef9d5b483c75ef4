"""The CPU time of every test, which a busy machine changes less than the time on the clock.

A pytest plug-in, loaded by ``conftest.py``. It counts the process, its threads, and the child processes that it has
waited for. What several tests share, such as a fixture of the session, is counted for the first of them.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

# The limits of one test in CPU seconds: by the marker that a more expensive one needs.
LIMIT_S: Final = {"": 3.0, "ci": 10.0}
_SHOWN: Final = 30
_PROPERTY: Final = "cpu_s"


def cpu_seconds() -> float:
    """The CPU seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


class Costs:
    """Collects the CPU seconds of tests in this process, and in xdist's workers by their reports."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._started = cpu_seconds()
        self._of_test: defaultdict[str, float] = defaultdict(float)

    def pytest_collection_finish(self) -> None:
        """Leave out what imports and collection have taken."""
        self._started = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """Add what a test has taken since the report before."""
        report: Any = yield
        now = cpu_seconds()
        report.user_properties = [*report.user_properties, (_PROPERTY, now - self._started)]
        self._started = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sum the phases of a test."""
        self._of_test[report.nodeid] += dict(report.user_properties).get(_PROPERTY, 0.0)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the most expensive tests and the sum."""
        if not self._of_test:
            return
        terminalreporter.section("CPU seconds of tests")
        ordered = sorted(self._of_test.items(), key=lambda item: -item[1])
        for name, seconds in ordered[:_SHOWN]:
            terminalreporter.write_line(f"{seconds:7.1f}  {name}")
        total = sum(self._of_test.values())
        terminalreporter.write_line(f"{total:7.1f}  all {len(ordered)} tests, without start and collection")
        if self._file:
            Path(self._file).write_text(json.dumps(dict(ordered), indent=0), "utf-8")
