"""Errors pass between processes, and are copied."""

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path

from spanseek.embedded import ProcessEnded, ServerNotStarted
from spanseek.errors import ApiError, ConnectionFailed, SpanseekError, TaskFailed
from spanseek.errors_by_code import BY_CODE
from spanseek.integrations.writing import DocumentsRefused
from spanseek.models import TaskDescription
from spanseek.requests import Added, Refused, ThresholdNotFound

TASK = {
    "id": "7",
    "kind": "import",
    "collection": "calls",
    "status": "failed",
    "progress": {"done": 0, "total": None, "unit": "lines"},
    "counts": {},
    "errors": [],
    "cancel_requested": False,
    "starts": 1,
    "created_at": "2026-11-28T00:00:00Z",
    "error": {"code": "storage_full", "detail": "No space.", "hint": "Make some."},
}


def kinds(kind: type[SpanseekError] = SpanseekError) -> Iterator[type[SpanseekError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from kinds(each)


def made(kind: type[SpanseekError]) -> SpanseekError:
    if issubclass(kind, ProcessEnded):
        return kind(Path("data"), -9)
    if issubclass(kind, ConnectionFailed):
        return kind("http://server", "reset", was_sent=True)
    if issubclass(kind, TaskFailed):
        return kind(TaskDescription.model_validate(TASK))
    if issubclass(kind, DocumentsRefused):
        return kind(Added(1, 0, 2, (Refused(3, "a", "No."),)))
    if issubclass(kind, ServerNotStarted):
        return kind("No.", "Wait.", "storage_full")
    if issubclass(kind, ApiError):
        return kind("No.", "Wait.", status=429, fields=[("a", "b")], retry_after_s=2.0, body={"c": [1]})
    return kind("No.")


def test_every_error_is_the_same_after_a_copy_and_in_another_process() -> None:
    assert {ThresholdNotFound, *BY_CODE.values()} <= set(kinds())
    for error in map(made, kinds()):
        for same in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
            assert (type(same), str(same), same.args) == (type(error), str(error), error.args)
            assert (vars(same), same.did_nothing, same.passes) == (vars(error), error.did_nothing, error.passes)
