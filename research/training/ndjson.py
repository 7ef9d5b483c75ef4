"""Lines of JSON that a user brings: every line is checked, and the first that is wrong is named."""

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any, cast

from indexer.ndjson import InvalidLine, parse_json
from models.errors import InvalidInput

WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Form:
    """What a line must hold: texts with words in them, and a score from 0 to 1 if one is asked for.

    ``example`` is shown to whoever sends something else; ``field`` is the option that named the file.
    """

    texts: tuple[str, ...]
    example: str
    field: str
    score: bool = False

    def parse(self, line: str, where: str) -> dict[str, Any]:
        """The object of a line; raises ``InvalidInput``, with the place, for any other.

        >>> Form(("query",), '{"query": "a phrase"}', "pairs").parse('{"query": "late fees", "id": 7}', "line 1")["id"]
        7
        """
        value = parse_json(line.encode())
        if isinstance(value, InvalidLine):
            raise self.refused(where, value.reason)
        reason = self._fault(value)
        if reason:
            raise self.refused(where, reason)
        return cast("dict[str, Any]", value)

    def refused(self, where: str, reason: str) -> InvalidInput:
        """The error for a place in a file, or for the file."""
        return InvalidInput(
            f"{where} cannot be trained on: {reason}.", hint=f"Every line is like {self.example}", field=self.field
        )

    def _fault(self, value: object) -> str:
        if not isinstance(value, dict):
            return "it is not an object"
        for name in self.texts:
            if not isinstance(value.get(name), str) or not WORD.search(value[name]):
                return f"{name} is not a text with words in it"
        if self.score and not _is_score(value.get("score")):
            return "score is not a number from 0 to 1"
        return ""


def _is_score(value: object) -> bool:
    # JSON's true is an int to Python.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def read_lines(path: Path, form: Form) -> Iterator[dict[str, Any]]:
    """The object of every line; blank lines are passed over."""
    check_file(path, form)
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.isspace():
                yield form.parse(line, f"{path.name}:{number}")


def check_file(path: Path, form: Form) -> None:
    """Refuse what is no file."""
    if not path.is_file():
        raise form.refused(str(path), "there is no such file")


def open_text(path: Path) -> TextIOWrapper:
    """A text file, also one in gzip. Bytes that are no UTF-8 are replaced."""
    encoding, errors = "utf-8-sig", "replace"
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding=encoding, errors=errors)
    return path.open(encoding=encoding, errors=errors)
