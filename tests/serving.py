"""The server as a process of its own."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx

from app.settings import Settings
from tests.waiting import until

SERVE = """
import sys
from app.main import serve
from app.settings import Settings
from models.errors import SpanseekError
try:
    serve(Settings(_env_file=None))
except SpanseekError as error:
    sys.exit(f"{error.code}: {error} {error.hint}")
"""


def start(settings: Settings, **changes: object) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPANSEEK_")}
    # Deadlines that a busy machine meets; tests of deadlines set their own.
    defaults = {"encoder": "hashing", "port": 0, "deadline_s": 120, "write_deadline_s": 300}
    wanted = {"data_dir": settings.data_dir} | defaults | changes
    environment |= {f"SPANSEEK_{name.upper()}": str(value) for name, value in wanted.items()}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVE], env=environment, stderr=subprocess.PIPE, text=True
    )


@contextmanager
def running(
    settings: Settings, log: list[str] | None = None, **changes: object
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A server that is ready; killed at the end if it is still there. Its log lines are added to ``log``."""
    with start(settings, **changes) as process:
        try:
            url = url_of(process)
            threading.Thread(target=_drain, args=(process, [] if log is None else log), daemon=True).start()
            with httpx.Client(base_url=url, timeout=300) as client:
                wait_until_ready(client)
                yield process, client
        finally:
            process.kill()


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"serves on (http://\S+)", line):
            return found[1]
    raise AssertionError("".join(said))


def _drain(process: subprocess.Popen[str], log: list[str]) -> None:
    """Read what the server logs, so that it never waits for the pipe."""
    assert process.stderr is not None
    with suppress(ValueError):  # closed while it is read: the process was killed
        log.extend(process.stderr)


def wait_until_ready(client: httpx.Client) -> None:
    until(lambda: client.get("/health/ready").status_code == 200)
