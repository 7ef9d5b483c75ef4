"""Progress of an indexing job, and a graceful stop on Ctrl-C."""

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from app.cli.console import counted, err

if TYPE_CHECKING:
    from indexer.indexing.pipeline import IndexReport

# Seconds between two lines without a terminal.
_EVERY_S = 60.0
_STEPS = ("sample", "index")

Item = TypeVar("Item")


class Position(Protocol):
    """A source that reports how much of it has been read."""

    total_bytes: int

    @property
    def read_bytes(self) -> int:
        """Bytes that have been read."""


class IndexingProgress:
    """Shows how much of a source has been read and encoded: a bar on a terminal, else one line a minute."""

    def __init__(self, source: Position, show: Callable[[str, float, str], None], clock: Callable[[], float]) -> None:
        self._source = source
        self._show = show
        self._clock = clock
        # When the first pool was encoded, and its characters: encoders are slow before.
        self._began: tuple[float, int] | None = None

    def sampling(self, records: Iterable[Item]) -> Iterator[Item]:
        """The records of a sample, each shown when it is read."""
        for number, record in enumerate(records, 1):
            self._show("sample", self._read_share(), f"{counted(number, 'document')} read")
            yield record

    def indexing(self, report: "IndexReport") -> None:
        """Show a report of the job."""
        documents, left = report.documents + report.unchanged, self.seconds_left(report)
        said = [
            counted(documents, "document"),
            counted(report.units, "unit"),
            f"{report.units_per_second:,.0f} units/s",
        ]
        share = self._read_share() * (report.encoded + report.passed) / max(report.read, 1)
        self._show("index", share, ", ".join([*said, *([] if left is None else [f"{_spoken(left)} left"])]))

    def seconds_left(self, report: "IndexReport") -> float | None:
        """The time that the characters left will take at the rate of those encoded; None before there is a rate.

        Characters are left of the records that were read and, by the size of these, of the bytes that were not.
        """
        if self._began is None:
            self._began = (self._clock(), report.encoded) if report.encoded else None
            return None
        began, first = self._began
        if report.encoded == first:
            return None
        total = report.read / max(self._read_share(), 1e-9)
        left = total - report.encoded - report.passed
        return max(left, 0.0) * (self._clock() - began) / (report.encoded - first)

    def _read_share(self) -> float:
        return self._source.read_bytes / max(self._source.total_bytes, 1)


def _spoken(seconds: float) -> str:
    """A duration in words.

    >>> _spoken(42.4), _spoken(600), _spoken(7800)
    ('42 s', '10 min', '2 h 10 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


@contextmanager
def indexing_progress(
    source: Position, console: Console, clock: Callable[[], float] = time.monotonic
) -> Iterator[IndexingProgress]:
    """The progress of a job: a bar if the console is a terminal, else one line a minute."""
    if not console.is_terminal:
        yield IndexingProgress(source, _lines(console, clock), clock)
        return
    columns = (
        TextColumn("{task.description:>6}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[detail]}"),
    )
    with Progress(*columns, console=console) as progress:
        tasks = {step: progress.add_task(step, total=1.0, start=False, visible=False, detail="") for step in _STEPS}

        def show(step: str, share: float, detail: str) -> None:
            if not progress.tasks[tasks[step]].started:
                progress.start_task(tasks[step])
            progress.update(tasks[step], completed=share, visible=True, detail=detail)

        yield IndexingProgress(source, show, clock)


def _lines(console: Console, clock: Callable[[], float]) -> Callable[[str, float, str], None]:
    last = clock()

    def show(step: str, share: float, detail: str) -> None:
        nonlocal last
        if clock() - last >= _EVERY_S:
            last = clock()
            console.print(f"{step}: {share:.0%}, {detail}", markup=False, soft_wrap=True)

    return show


@contextmanager
def bytes_progress(description: str) -> Iterator[Callable[[int, int], None]]:
    """Shows bytes done of all: a bar on a terminal, else one line a minute."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=not err.is_terminal) as progress:
        task = progress.add_task(description, total=None)
        lines = _lines(err, time.monotonic)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)
            if not err.is_terminal:
                lines(description, done / max(total, 1), f"{done / 10**6:,.0f} MB")

        yield show


@contextmanager
def stop_on_interrupt(message: str) -> Iterator[Event]:
    """The first Ctrl-C sets the event and prints the message; a second one ends the command at once."""
    stop = Event()

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        err.print(message)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
