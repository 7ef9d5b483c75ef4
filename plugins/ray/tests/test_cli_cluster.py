"""``spanseek cluster``: what it prints, and what it refuses; tests/integration/test_cluster.py asks a cluster."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from app.cli import cli
from models.errors import InvalidInput
from spanseek_ray import administration
from spanseek_ray.administration import ActorStatus
from spanseek_ray.settings import ClusterOptions

ACTORS = [
    ActorStatus("segments-0", "10.0.7.4", "ready", 12, 3_000_000, 99, 0.5),
    ActorStatus("segments-1", "10.0.7.5", "out"),
]


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["cluster", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the administration of the cluster was asked."""
    asked: list[Any] = []

    def drain(options: ClusterOptions, name: str, *, draining: bool) -> list[str]:
        asked.append((options.address, name, draining))
        return ["segments-0"]

    monkeypatch.setenv("SPANSEEK_RAY_ADDRESS", "head:6379")
    monkeypatch.setattr(administration, "status", lambda options: ACTORS)
    monkeypatch.setattr(administration, "drain", drain)
    return asked


def test_status_shows_every_actor(asked: list[Any]) -> None:
    first, second = json.loads(printed("status", "--json"))
    assert first == {
        "name": "segments-0",
        "node": "10.0.7.4",
        "state": "ready",
        "segments": 12,
        "units": 3_000_000,
        "answered": 99,
        "idle_s": 0.5,
    }
    assert (second["state"], second["idle_s"]) == ("out", None)
    table = printed("status")
    assert "segments-0" in table
    assert "3,000,000" in table


def test_drain_and_its_undoing(asked: list[Any]) -> None:
    assert "segments-0" in printed("drain", "10.0.7.4")
    assert json.loads(printed("drain", "segments-0", "--undo", "--json")) == {
        "actors": ["segments-0"],
        "draining": False,
    }
    assert asked == [("head:6379", "10.0.7.4", True), ("head:6379", "segments-0", False)]


def test_a_cluster_of_another_process_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANSEEK_RAY_ADDRESS", "local")
    result = CliRunner().invoke(cli, ["cluster", "status"])
    assert isinstance(result.exception, InvalidInput)
    assert "/metrics" in result.exception.hint
