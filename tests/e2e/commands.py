"""Sample documents, and the outcome of a command."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CALLS = [
    {"id": "a", "text": "Where is my parcel?\r\nIt was due on Monday.", "metadata": {"lang": "en", "week": 7}},
    {
        "id": "b\u2028[/red]",
        "parts": [
            {"text": "I want to cancel my subscription \x1b[31mtoday", "metadata": {"speaker": "customer"}},
            {"text": "Done.", "metadata": {"speaker": "agent"}},
        ],
        "metadata": {"lang": "de"},
    },
]


@dataclass(frozen=True)
class Outcome:
    """What a command left on the terminal."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out.endswith("\n")
        (line,) = self.out.splitlines()
        return json.loads(line)


Run = Callable[..., Outcome]
