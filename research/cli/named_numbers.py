"""Options of the form ``NAME=NUMBER``."""

import re
from collections.abc import Iterable, Sequence

from models.errors import InvalidInput

NUMBER, COUNT = re.compile(r"\d+(\.\d+)?"), re.compile(r"\d{1,4}")


def named_numbers(
    pairs: Iterable[str], names: Sequence[str], form: re.Pattern[str], what: str, field: str, example: str
) -> dict[str, float]:
    """``NAME=NUMBER`` taken apart. Raises ``InvalidInput`` for another name or form."""
    numbers: dict[str, float] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in names or not form.fullmatch(value):
            raise InvalidInput(
                f"{pair!r} is no {what}.",
                hint=f"Write NAME=NUMBER, as in {example}. Names are: {', '.join(names)}.",
                field=field,
            )
        numbers[name] = float(value)
    return numbers
