"""The product as a process of this program, for one folder.

A process of its own keeps the packages of this program away from the product's, and the product's threads from this
program's. It listens on a Unix socket that only its user may open, and ends with this program, however that ends.
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from spanseek.errors import ConnectionFailed, SpanseekError

# Of one user on one machine: a first search may compile kernels.
_DEADLINES = {"SPANSEEK_DEADLINE_S": "60", "SPANSEEK_WRITE_DEADLINE_S": "300", "SPANSEEK_LOG_LEVEL": "warning"}
_STOP_S = 15
# Seconds between the loss of its connections and the end of a process.
_END_S = 0.5


class ProductMissing(SpanseekError):
    """``spanseek.open`` needs the product, which is not installed."""


class ServerNotStarted(SpanseekError):
    """The process of a folder ended before it was ready; ``code`` is the error's, if it said one."""

    def __init__(self, detail: str, hint: str = "", code: str = "") -> None:
        super().__init__(f"{detail} {hint}".strip())
        self.hint, self.code = hint, code


class ProcessEnded(ConnectionFailed):
    """The process of an opened folder ended before the program: it was killed, perhaps for lack of memory."""

    def __init__(self, folder: Path, status: int) -> None:
        super().__init__(str(folder), f"its process ended with status {status}; open the folder again", was_sent=True)
        self.hint = "Open the folder again."

    @property
    def passes(self) -> bool:
        """False: nothing starts the process again."""
        return False


class EmbeddedServer:
    """The processes of one folder: one on a socket, and one with the page, once that is asked for."""

    def __init__(self, folder: str | os.PathLike[str], settings: dict[str, object]) -> None:
        try:
            version("spanseek")
        except PackageNotFoundError as error:
            raise ProductMissing("spanseek.open needs the product: pip install spanseek.") from error
        self._folder = Path(folder)
        self._environment = _environment(self._folder, settings)
        # A short path: that of a socket has at most 107 bytes.
        self._home = tempfile.TemporaryDirectory(prefix="spanseek-")
        self._processes: list[subprocess.Popen[str]] = []
        self._page: str | None = None
        try:
            self.socket = self._start("--socket", str(Path(self._home.name) / "socket"))
        except SpanseekError:
            self._home.cleanup()
            raise

    def serve(self, port: int) -> str:
        """The address of the page, which a second process serves on loopback until this program ends."""
        if self._page is None:
            self._page = self._start("--port", str(port))
        return self._page

    def end(self) -> ProcessEnded | None:
        """The error of a process that has ended by itself; None while it runs."""
        for process in self._processes[:1]:
            with suppress(subprocess.TimeoutExpired):
                return ProcessEnded(self._folder, process.wait(_END_S))
        return None

    def close(self) -> None:
        """Stop all processes, after the requests that run."""
        for process in self._processes:
            _ask_to_stop(process)
        for process in self._processes:
            _wait_for(process)
        self._processes = []
        with suppress(OSError):
            self._home.cleanup()

    def _start(self, *where: str) -> str:
        # -P: neither the folder of this program nor the present one holds the product's packages.
        process = subprocess.Popen(  # noqa: S603  nothing of it comes from elsewhere
            [sys.executable, "-P", "-m", "app.embedded", *where],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # an interrupt of this program is not meant for it
        )
        self._processes.append(process)
        assert process.stdout is not None  # noqa: S101  it is a pipe
        said = json.loads(process.stdout.readline() or "{}")
        if "url" not in said:
            self._processes.remove(process)
            _ask_to_stop(process)
            _wait_for(process)
            detail = said.get("detail") or "The process ended before it was ready; what it said stands above."
            raise ServerNotStarted(detail, said.get("hint", ""), said.get("code", ""))
        return str(said["url"])


def _environment(folder: Path, settings: dict[str, object]) -> dict[str, str]:
    """The environment of a process: that of this program, without its module path. The process checks the names."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    named = {f"SPANSEEK_{name.upper()}": str(value) for name, value in settings.items()}
    here = {"SPANSEEK_DATA_DIR": str(folder.absolute()), "SPANSEEK_OPENED_WITH": " ".join(settings)}
    return _DEADLINES | own | named | here


def _ask_to_stop(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _wait_for(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
