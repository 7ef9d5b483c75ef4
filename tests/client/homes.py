"""Two homes of one interface: a server over HTTP, and a folder whose process ``spanseek.open`` starts."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pydantic import BaseModel

import spanseek

# What differs from run to run.
PASSING = {"took_ms", "created_at", "started_at", "finished_at", "changed_at", "id", "starts", "bytes"}
CALLS = [
    {"call": "a", "turn": 2, "line": "somebody took my payment twice", "speaker": "customer", "queue": "billing"},
    {"call": "a", "turn": 1, "line": "hello how can I help", "speaker": "agent", "queue": "billing"},
    {"call": "b", "turn": 1, "line": "where is my parcel now", "speaker": "customer", "queue": "parcels"},
    {"call": "b", "turn": 2, "line": "it was sent out twice", "speaker": "agent", "queue": "parcels"},
]


class Homes(NamedTuple):
    connected: spanseek.Client
    embedded: spanseek.Client

    def agree(self, ask: Callable[[spanseek.Client], Any]) -> Any:
        """What both homes answer, which is the same."""
        first, second = ask(self.connected), ask(self.embedded)
        assert lasting(first) == lasting(second), (first, second)
        return first


def lasting(answer: Any) -> Any:
    """An answer without what differs from run to run."""
    if isinstance(answer, BaseModel):
        return lasting(dict(answer))
    if isinstance(answer, dict):
        return {name: lasting(value) for name, value in answer.items() if name not in PASSING}
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        return answer
    return [lasting(each) for each in answer]


def outcome(ask: Callable[[], Any]) -> str:
    """The name and the message of the error that a call raises."""
    try:
        ask()
    except spanseek.SpanseekError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("no error")
