"""Readers of untrusted files, each file in a process of its own with limits of memory and of processor time.

Parsers may crash, loop, or take all memory. So a first process imports the readers, which takes a second, and forks for
every file, which takes milliseconds. The fork writes a line of JSON for every record; when it has ended, the first
process writes a line with its status, and waits for the next file. A file within another, such as an attachment, is
read by a fork of the fork.

What the file is to blame for is a refusal: an exception, a crash, a limit that was reached. A process that is killed,
or cannot be started, is a shortage of the machine, which is raised as ``ResourcesExhausted``.
"""

import atexit
import gc
import gzip
import io
import json
import math
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, replace
from functools import partial, wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final, NoReturn, TypeAlias, cast

from indexer.disk import shortage
from indexer.errors import InvalidDocument, NoText, ResourcesExhausted, SourceUnreadable
from indexer.sources.documents import document_from_json
from indexer.sources.options import ReadOptions
from indexer.sources.records import Found, Reader, Reading, is_packed, refuse
from models.interruption import checkpoint
from models.types import Document

# A line of a reader's process.
Message: TypeAlias = dict[str, Any]

# Bytes that a reader may allocate, whatever the size of its file.
_MEMORY: Final = 2**30
# Seconds of the processor for a record, and more for every byte of the file.
_SECONDS: Final = 20
_SECONDS_A_BYTE: Final = 5 / 2**20
# Seconds without a line of a reader, or without a file to read, after which its process is ended.
_PATIENCE: Final = 600
_IDLE: Final = 60
# The longest line: a document of as many characters as are allowed, each of which is an escape.
_LONGEST: Final = 2**29
_CHUNK: Final = 2**16
# Signals by which others end a process, such as the kernel that is short of memory.
_KILLED: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_INSTALL: Final = "reading it needs a library that is not installed; run: pip install 'spanseek[files]'"
_HINT: Final = "Give the machine more memory or processes, or read fewer files at once; then do the same again."
_PROGRAM: Final = "import sys; sys.path[:] = sys.argv[1:]; from spanseek_files.isolated import serve; serve()"


def isolated(kind: str, *libraries: str) -> Callable[[Reader], Reader]:
    """Let a reader read each file in a process of its own; ``kind`` is what the file should be, such as ``a PDF``.

    The libraries are imported before the first file is read, and a file is refused where one is not installed.
    """

    def isolate(read: Reader) -> Reader:
        @wraps(read)
        def read_isolated(reading: Reading) -> Iterator[Found]:
            if not all(map(_is_installed, libraries)):
                yield 1, partial(refuse, _INSTALL)
                return
            job = {"kind": kind, "libraries": libraries, "module": read.__module__, "reader": read.__name__}
            messages = _forked(kind, read, reading) if _Process.is_reader else _asked(job, reading)
            with closing(messages):
                yield from _received(kind, reading, messages)

        return read_isolated

    return isolate


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library.partition(".")[0]) is not None
    except ImportError:
        return False


def _received(kind: str, reading: Reading, messages: Iterator[Message]) -> Iterator[Found]:
    """The records of a reader's lines, up to the status of its process."""
    number = 0
    for message in messages:
        if "notice" in message:
            reading.notice, reading.fraction = message["notice"], message["fraction"]
            reading.lost += message["lost"]
        if "shortage" in message:
            raise ResourcesExhausted(message["shortage"], hint=message["hint"])
        if "unreadable" in message:
            raise SourceUnreadable(message["unreadable"], hint=message["hint"])
        if "number" in message:
            number = message["number"]
            yield number, partial(_document, message)
        if reason := _fault(kind, message.get("status", 0)):
            if number:
                raise SourceUnreadable(reason)
            yield 1, partial(refuse, reason)


def _document(message: Message) -> Document:
    """The document of a line, or the refusal."""
    if "document" in message:
        return document_from_json(message["document"])
    raise (InvalidDocument if message["is_lost"] else NoText)(message["reason"])


def _fault(kind: str, status: int) -> str:
    """The fault of a file whose reader ended with a status. Raises ``ResourcesExhausted`` if others have ended it."""
    code = os.waitstatus_to_exitcode(status)
    if -code in _KILLED:
        raise ResourcesExhausted(f"The process that reads a file was killed by signal {-code}.", hint=_HINT)
    if code == -signal.SIGXCPU:
        return f"not {kind} that can be read: it takes more processor time than a page, or a file of its size, may"
    return f"not {kind} that can be read: it breaks its reader, or takes too much memory" if code else ""


class _Process:
    """A process that forks for every file that it is asked to read."""

    is_reader = False
    _idle: Final[list["_Process"]] = []
    _lock: Final = Lock()

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - the program is this module
            [sys.executable, "-I", "-c", _PROGRAM, *filter(None, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self._lines = _lines(cast("BinaryIO", self._process.stdout).fileno())

    @classmethod
    def asked(cls, job: Mapping[str, object]) -> "_Process":
        """A process that has begun to read a file: an idle one, if it still runs, or a new one."""
        while True:
            with cls._lock:
                idle = cls._idle.pop() if cls._idle else None
            process = idle or cls()
            try:
                if process._begins(job):
                    return process
            except BaseException:
                process.close()
                raise
            process.close()
            if idle is None:
                raise ResourcesExhausted("The process that reads files cannot be started.", hint=_HINT)

    def _begins(self, job: Mapping[str, object]) -> bool:
        stdin = cast("BinaryIO", self._process.stdin)
        with suppress(BrokenPipeError):
            stdin.write(json.dumps(job).encode() + b"\n")
            stdin.flush()
        return next(self._lines, b"") == b"{}"

    def messages(self) -> Iterator[Message]:
        """The lines of the file's reader, up to its status."""
        for message in _messages(self._lines):
            yield message
            if "status" in message:
                return
        raise ResourcesExhausted("The process that reads files was killed.", hint=_HINT)

    def rest(self) -> None:
        """Wait for another file."""
        with self._lock:
            self._idle.append(self)

    def close(self) -> None:
        """End the process, and the reader that it has forked."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with self._process, suppress(BrokenPipeError):
            cast("BinaryIO", self._process.stdin).close()

    @classmethod
    def close_idle(cls) -> None:
        """End all processes that wait for a file."""
        with cls._lock:
            idle, cls._idle[:] = [*cls._idle], []
        for process in idle:
            process.close()


atexit.register(_Process.close_idle)
os.register_at_fork(after_in_child=_Process._idle.clear)


def _asked(job: Mapping[str, object], reading: Reading) -> Generator[Message, None, None]:
    """The lines of a reader that another process runs."""
    options = asdict(replace(reading.options, metadata=None))
    process = _Process.asked({**job, "name": reading.name, "path": str(reading.path.absolute()), "options": options})
    has_ended = False
    try:
        for message in process.messages():
            has_ended = "status" in message
            yield message
    finally:
        process.rest() if has_ended else process.close()


def _forked(kind: str, read: Reader, reading: Reading) -> Generator[Message, None, None]:
    """The lines of a reader in a fork of this process, which has one thread."""
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        os.close(source)
        _work(kind, lambda: (read, reading), sink)
    os.close(sink)
    try:
        yield from _messages(_lines(source))
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(source)
        _, status = os.waitpid(child, 0)
    yield {"status": status}


def _messages(lines: Iterator[bytes]) -> Iterator[Message]:
    """The messages of lines. A line that its process did not finish is left out."""
    for line in lines:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        yield message


def _lines(source: int) -> Iterator[bytes]:
    """The lines that a process writes, up to its end. Whoever waits for them can be interrupted."""
    held: list[bytes] = []
    while chunk := _chunk(source):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield b"".join([*held, end])
            held = []
        held.append(rest)
        if sum(map(len, held)) > _LONGEST:
            raise SourceUnreadable("a record is too long")


def _chunk(source: int) -> bytes:
    ready = select.poll()
    ready.register(source, select.POLLIN)
    for _ in range(2 * _PATIENCE):
        checkpoint()
        if ready.poll(500):
            return os.read(source, _CHUNK)
    raise ResourcesExhausted(f"The process that reads a file did nothing for {_PATIENCE} seconds.", hint=_HINT)


def serve() -> None:
    """Read the files that lines of standard input name, each in a fork; end after a minute without one."""
    _Process.is_reader = True
    sink = os.dup(sys.stdout.fileno())
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what libraries print
    jobs, ready = sys.stdin.buffer, select.poll()
    ready.register(jobs, select.POLLIN)
    while ready.poll(1000 * _IDLE) and (line := jobs.readline()):
        job = json.loads(line)
        for name in (*job["libraries"], job["module"]):
            import_module(name)
        gc.freeze()  # so that collections in forks do not copy its pages
        os.write(sink, b"{}\n")
        child = os.fork()
        if not child:
            _work(job["kind"], partial(_opened, job), sink)
        _, status = os.waitpid(child, 0)
        os.write(sink, b"\n%s\n" % json.dumps({"status": status}).encode())


def _opened(job: Message) -> tuple[Reader, Reading]:
    """The reader of a job, and its file."""
    path = Path(job["path"])

    def opened() -> BinaryIO:
        return cast("BinaryIO", gzip.open(path)) if is_packed(path.name) else path.open("rb")

    columns = job["options"]["metadata_columns"]
    options = ReadOptions(**{**job["options"], "metadata_columns": None if columns is None else tuple(columns)})
    read: Reader = getattr(import_module(job["module"]), job["reader"]).__wrapped__
    return read, Reading(opened(), job["name"], path, options, opened)


def _work(kind: str, opened: Callable[[], tuple[Reader, Reading]], sink: int) -> NoReturn:
    """Read a file in this process, which ends with it."""
    code = 1
    try:
        with os.fdopen(sink, "wb") as out:
            _limit_memory()
            for values in _told(kind, *opened()):
                out.write(json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
                out.flush()
        code = 0
    finally:
        os._exit(code)


def _told(kind: str, read: Reader, reading: Reading) -> Generator[Message, None, None]:
    """The messages about a file: its records, and what its reader concluded and left out."""
    number, seconds = 0, _SECONDS + _SECONDS_A_BYTE * _size(reading.file)
    try:
        allow(seconds)
        for number, parse in read(reading):
            yield {"number": number, **_record(kind, parse), **_noted(reading)}
            allow(seconds)
        yield _noted(reading)
    except SourceUnreadable as error:
        yield {"unreadable": str(error), "hint": error.hint, **_noted(reading)}
    except Exception as error:  # noqa: BLE001 - a reader of untrusted files raises whatever its parts raise
        refused = _refused(kind, error)
        of_all = {"unreadable": refused.get("reason"), "hint": ""} if number else {"number": 1, **refused}
        yield (refused if "shortage" in refused else of_all) | _noted(reading)


def _record(kind: str, parse: Callable[[], Document]) -> Message:
    try:
        document = parse()
        parts = [{"text": part.text, "metadata": part.metadata} for part in document.parts]
        return {"document": {"id": document.id, "parts": parts, "metadata": document.metadata}}
    except Exception as error:  # noqa: BLE001
        return _refused(kind, error)


def _refused(kind: str, error: Exception) -> Message:
    """An error of a reader, as the fault of its file unless it is a shortage of the machine."""
    if isinstance(error, InvalidDocument):
        return {"reason": str(error), "is_lost": not isinstance(error, NoText)}
    if isinstance(error, ImportError):
        return {"reason": _INSTALL, "is_lost": True}
    said = f"{error}" or type(error).__name__
    if isinstance(error, MemoryError):
        said = f"it needs more than {_MEMORY // 2**20:,} MB of memory"
    elif isinstance(error, RecursionError):
        said = "it is nested too deeply"
    elif named := shortage(error):
        return {"shortage": str(named), "hint": named.hint}
    return {"reason": f"not {kind} that can be read: {said}", "is_lost": True}


def _noted(reading: Reading) -> Message:
    """What a reader concluded so far, and what it left out since it was asked before."""
    lost, reading.lost[:] = [*reading.lost], []
    raw = _raw(reading.file)
    return {"notice": reading.notice, "lost": lost, "fraction": raw.tell() / max(_size(raw), 1)}


def _raw(file: BinaryIO) -> BinaryIO:
    """The file on disk, of which ``file`` may be what it unpacks to."""
    return getattr(file, "fileobj", file)


def _size(file: BinaryIO) -> int:
    raw = _raw(file)
    return raw.getbuffer().nbytes if isinstance(raw, io.BytesIO) else os.fstat(raw.fileno()).st_size


def _limit_memory() -> None:
    """Limit the memory of this process, and write no core."""
    with suppress(OSError, ValueError):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, used + _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def used_seconds() -> float:
    """The processor time of this process so far."""
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


def allow(seconds: float, since: float | None = None) -> None:
    """Let a reader's process take so many seconds of the processor from now on, or since it had taken some.

    Beyond them the system ends it (SIGXCPU). Time in which a busy machine does other work does not count.
    """
    if _Process.is_reader:
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        until = (used_seconds() if since is None else since) + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(until), most))
