"""The product as a process of this program, for one folder.

A process of its own keeps the packages of this program away from the product's, and the product's threads from this
program's. It listens on a Unix socket that only its user may open, and ends with this program, however that ends. A
process that is forked from this program may ask it, too, and neither stops it nor removes its socket.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
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
        home = tempfile.mkdtemp(prefix="spanseek-")
        self._pid = os.getpid()
        self._remove_home = weakref.finalize(self, _remove, home, self._pid)
        self._processes: list[subprocess.Popen[str]] = []
        self._page: str | None = None
        try:
            self.socket = self._start("--socket", str(Path(home) / "socket"))
        except SpanseekError:
            self._remove_home()
            raise

    def serve(self, port: int) -> str:
        """The address of the page, which a second process serves on loopback until this program ends."""
        if self._page is None:
            self._page = self._start("--port", str(port))
        return self._page

    def end(self) -> ProcessEnded | None:
        """The error of a process that has ended by itself; None while it runs, and in a forked process."""
        for process in self._processes[:1] if self._is_own else ():
            with suppress(subprocess.TimeoutExpired):
                return ProcessEnded(self._folder, process.wait(_END_S))
        return None

    def close(self) -> None:
        """Stop all processes, after the requests that run; a forked process stops none."""
        if self._is_own:
            for process in self._processes:
                process.terminate()
            for process in self._processes:
                _wait_for(process)
            self._remove_home()
        self._processes = []

    @property
    def _is_own(self) -> bool:
        """False in a forked process: only its parent can wait for the processes."""
        return self._pid == os.getpid()

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
            process.terminate()
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


def _wait_for(process: subprocess.Popen[str]) -> None:
    """Wait until a process has ended that was asked to. Its standard input is not closed before, or it would be asked
    twice, and no longer wait for its requests.
    """
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _remove(home: str, pid: int) -> None:
    """Remove the folder of a socket, unless this process was forked from the one that made it."""
    if pid == os.getpid():
        shutil.rmtree(home, ignore_errors=True)
