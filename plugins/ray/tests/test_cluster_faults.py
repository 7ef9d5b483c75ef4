"""The short form of the faults of a cluster, in a process of its own: this one may have joined another."""

import json
import subprocess
import sys

import pytest


@pytest.mark.slow("kills a cluster")
@pytest.mark.timeout(1200)
def test_no_answer_is_wrong_whatever_is_killed() -> None:
    few = ["--queries", "200", "--kills", "10", "--nodes", "1", "--fronts", "1", "--head-s", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "plugins.ray.tests.cluster", *few],
        capture_output=True,
        text=True,
        timeout=1100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert sum(report["searches"].values()) >= 200
    assert {name: of["times"] for name, of in report["faults"].items()} == {
        "1 killed": 9,
        "2 killed": 1,
        "node removed": 1,
        "front started anew": 1,
        "head restarted": 1,
    }
