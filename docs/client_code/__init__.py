"""Write what the Python client takes from the code of the server: ``make docs``.

``client/spanseek/models.py`` has the answers and ``client/spanseek/asynchronous/api.py`` a method for every operation,
both from the OpenAPI document. ``client/spanseek/errors_by_code.py`` has a class for every error code.
``client/spanseek/synchronous`` is made of ``client/spanseek/asynchronous``, word by word, so that both stay alike.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from app.http.app import create_app
from app.settings import Settings
from docs.client_code.errors import errors
from docs.client_code.models import models
from docs.client_code.operations import operations

PACKAGE: Final = Path(__file__).parents[2] / "client" / "spanseek"
_WORDS: Final = {
    "asynchronous": "synchronous",
    "from asyncio import sleep": "from time import sleep",
    "AsyncHTTPTransport": "HTTPTransport",
    "AsyncApi": "Api",
    "AsyncClient": "Client",
    "AsyncCollection": "Collection",
    "AsyncIterable": "Iterable",
    "AsyncIterator": "Iterator",
    "connect_async": "connect",
    "open_async": "open",
    "process_and_loop": "process",
    "AsyncTransport": "Transport",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aclosing": "closing",
    "aiter_bytes": "iter_bytes",
    "aiter_lines": "iter_lines",
    "aread": "read",
    "async def": "def",
    "async for": "for",
    "async with": "with",
}
_SYNCHRONOUS: Final = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in _WORDS) + r"|\bawait ")


def files() -> dict[Path, str]:
    """The text of every generated file."""
    document = create_app(Settings(_env_file=None)).openapi()
    written = {
        PACKAGE / "errors_by_code.py": errors(),
        PACKAGE / "models.py": models(document),
        PACKAGE / "asynchronous" / "api.py": operations(document),
    }
    written = {path: _formatted(path, text) for path, text in written.items()}
    sources = {path: path.read_text("utf-8") for path in sorted((PACKAGE / "asynchronous").glob("*.py"))}
    for path, text in (sources | {path: text for path, text in written.items() if path.parent != PACKAGE}).items():
        mirrored = PACKAGE / "synchronous" / path.name
        written[mirrored] = _formatted(mirrored, synchronous(text))
    return written


def synchronous(text: str) -> str:
    """The source of a module without ``async``.

    >>> synchronous("async def close(self) -> None:\\n    await self._http.aclose()")
    'def close(self) -> None:\\n    self._http.close()'
    """
    return _SYNCHRONOUS.sub(lambda word: _WORDS.get(word[0], ""), text)


def _formatted(path: Path, text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--fix-only", "--quiet"], ["format", "--quiet"]):
        whole = [*ruff, *command, "--stdin-filename", str(path), "-"]
        text = subprocess.run(whole, input=text, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return text


def main() -> None:
    """Rewrite the generated files of the client."""
    for path, text in files().items():
        path.write_text(text, "utf-8")
