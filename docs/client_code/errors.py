"""The classes of errors, from the tables of ``docs/errors.md``, which have every code."""

import re
from pathlib import Path
from typing import Final

from docs.client_code.schemas import HEAD, docstring

_PAGE: Final = Path(__file__).parents[1] / "errors.md"
_ROW: Final = re.compile(r"^\| `(\w+)` \| \d+ \| (.+?) \| ", re.MULTILINE)


def errors() -> str:
    """The source of a class for every code, and of their table."""
    meanings = dict(_ROW.findall(_PAGE.read_text("utf-8")))
    classes = (
        f'\n\nclass {_class_name(code)}(ApiError):\n{docstring(meanings[code], "    ")}\n\n    code = "{code}"\n'
        for code in sorted(meanings)
    )
    rows = "".join(f'    "{code}": {_class_name(code)},\n' for code in sorted(meanings))
    return (
        HEAD.format(what="An exception for every error code of the API")
        + "from typing import Final\n\nfrom spanseek.errors import ApiError\n"
        + "".join(classes)
        + f"\n\nBY_CODE: Final[dict[str, type[ApiError]]] = {{\n{rows}}}\n"
    )


def _class_name(code: str) -> str:
    return "".join(word.capitalize() for word in code.split("_"))
