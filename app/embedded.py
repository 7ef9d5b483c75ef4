"""The server of ``spanseek.open``: a process of its own, for the process that started it, until that one ends.

It listens on a Unix socket in a folder that only its user may enter, and asks for no key: whoever may open the socket
may read the data folder, too. With ``--port`` it serves the page on loopback instead, as ``spanseek serve`` does.
Standard output gets one line of JSON: ``{"url": ...}`` once it is ready, or the code, the message and the hint of the
error that keeps it from that. It stops when its standard input is closed, which also happens when its parent is killed.
"""

import argparse
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path

from pydantic import ValidationError

from app.http.auth import AnonymousAccess
from app.main import listen, prepare, require_keys, run, url_of
from app.services import make_encoders, open_store
from app.settings import Settings, settings_classes
from indexer.catalog import schema
from indexer.disk import full_disk_named, path_refused
from models.errors import InvalidInput, SpanseekError


class OwnerAccess(AnonymousAccess):
    """Answers callers without a key, also where keys are in use: the socket is their owner's alone.

    >>> OwnerAccess().is_allowed()
    True
    """

    def is_allowed(self) -> bool:
        """True: only the owner reaches the socket."""
        return True


def main(arguments: Sequence[str]) -> int:
    """Serve until standard input ends; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m app.embedded", description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--socket", type=Path)
    where.add_argument("--port", type=int)
    options = parser.parse_args(arguments)
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        with full_disk_named():
            _refuse_unknown(os.environ.pop("SPANSEEK_OPENED_WITH", "").split())
            _serve(Settings(), options.socket, options.port)
    except SpanseekError as error:
        return _fail(error)
    except ValidationError as error:
        return _fail(InvalidInput(str(error), hint="Correct the option of spanseek.open, or the environment."))
    except OSError as error:
        if error.filename is None:
            raise
        return _fail(path_refused(error))
    return 0


def _refuse_unknown(names: Sequence[str]) -> None:
    """Raise ``InvalidInput`` for a name among the options of ``spanseek.open`` that is no setting."""
    known = {name for kind in settings_classes() for name in kind.model_fields}
    for name in names:
        if name.lower() not in known:
            near = "".join(f"Did you mean {each}? " for each in get_close_matches(name.lower(), known, 1))
            raise InvalidInput(f"There is no setting {name!r}.", hint=f"{near}docs/settings.md lists them.")


def _serve(settings: Settings, path: Path | None, port: int | None) -> None:
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    if not settings.database_url:
        schema.upgrade(settings.catalog_url)
    prepare(settings)
    encoders = make_encoders(settings)
    encoders.load(settings.encoder)
    if path is not None:
        with _private_socket(path) as listening:
            run(settings, encoders, listening, str(path), access=OwnerAccess(), started=lambda: _say(url=str(path)))
        return
    with closing(open_store(settings).catalog) as catalog:
        require_keys(settings.host, catalog)
    with listen(settings.host, port or 0) as listening:
        url = url_of(listening)
        run(settings, encoders, listening, url, started=lambda: _say(url=url))


def _private_socket(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    path.chmod(0o600)
    listening.listen(128)
    return listening


def _stop_with_parent() -> None:
    # Past the buffer of standard input, whose lock a thread that waits for more would hold when the process ends.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _fail(error: SpanseekError) -> int:
    """Say why there is no server; the exit status."""
    _say(code=error.code, detail=str(error), hint=error.hint)
    return 1


def _say(**fields: str) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
