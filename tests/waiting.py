"""Waiting for a condition, however busy the machine is; and clocks that need not be waited for."""

import asyncio
import time
from collections.abc import Callable

import pytest

# Longer than any machine takes, and shorter than the limit of a test: a test that passes never waits so long.
PATIENCE_S = 200.0


def until(holds: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Return as soon as the condition holds; fails the test if it does not within ``patience_s``."""
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end, "the condition does not hold"
        time.sleep(0.01)


def advance_loop(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Put the clock of the running event loop forward, as if it had waited."""
    loop = asyncio.get_running_loop()
    late, began = loop.time() + seconds, time.monotonic()
    monkeypatch.setattr(loop, "time", lambda: late + time.monotonic() - began)
