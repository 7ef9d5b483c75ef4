"""Readers in processes of their own: what a file is to blame for is a refusal, and what the machine lacks is raised."""

import errno
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from indexer.errors import ResourcesExhausted
from indexer.sources import BadRecord, Source, formats
from models.interruption import Interrupted, interruptible
from models.types import Document
from plugins.files.tests.odd_readers import read_around, read_odd
from spanseek_files import isolated
from tests.waiting import until


@pytest.fixture(autouse=True)
def _odd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(formats.READERS, ".txt", read_odd)
    monkeypatch.setitem(formats.READERS, ".md", read_around)


def source_of(folder: Path, *lines: str, name: str = "x.txt") -> Source:
    (folder / name).write_text("\n".join(lines))
    return Source(folder / name)


def is_running(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_records_notices_and_losses_arrive(tmp_path: Path) -> None:
    source = source_of(tmp_path, "The fee\u2028is due.", "fail", "It is late.")
    first, bad, last = source
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert (first.text, last.id, last.text) == ("The fee\u2028is due.", "3", "It is late.")
    assert bad == BadRecord("x.txt:2", "not a test that can be read: 'fail'")
    assert source.notices == {"x.txt": "3 lines"}
    assert source.lost == {"x.txt": ("1 mark of line 1", "1 mark of line 3")}


def test_files_are_read_in_processes_that_end_with_them(tmp_path: Path) -> None:
    processes = [record.parts[0].metadata["process"] for _ in range(2) for record in source_of(tmp_path, "One.")]  # type: ignore[union-attr]
    assert len({*processes, isolated.os.getpid()}) == 3
    assert not any(is_running(int(each)) for each in processes)  # type: ignore[arg-type]


FAULTS = {
    "allocate": "it needs more than 1,024 MB of memory",
    "abort": "it breaks its reader, or takes too much memory",
    "work on": "it takes more processor time than a page, or a file of its size, may",
}


@pytest.mark.parametrize(("word", "reason"), FAULTS.items())
def test_a_file_that_is_too_much_for_its_reader_is_refused_and_the_next_is_read(
    tmp_path: Path, word: str, reason: str
) -> None:
    source_of(tmp_path, word)
    source_of(tmp_path, "It is late.", name="y.txt")
    bad, good = Source(tmp_path)
    assert bad == BadRecord("x.txt:1", f"not a test that can be read: {reason}")
    assert isinstance(good, Document)


def test_what_comes_before_a_crash_is_read(tmp_path: Path) -> None:
    good, bad = source_of(tmp_path, "It is late.", "abort")
    assert isinstance(good, Document)
    assert isinstance(bad, BadRecord)
    assert bad.reason.startswith("from here on the file cannot be read")


@pytest.mark.parametrize(("word", "reason"), FAULTS.items())
def test_a_file_within_another_that_is_too_much_is_lost_alone(tmp_path: Path, word: str, reason: str) -> None:
    source = source_of(tmp_path, "One.", word, "Two.", name="x.md")
    (document,) = source
    assert isinstance(document, Document)
    assert document.text == "One.\nTwo."
    assert f"attachment x.odd: not a test that can be read: {reason}" in source.lost["x.md"]


@pytest.mark.parametrize("name", ["x.txt", "x.md"])
def test_a_reader_that_is_killed_is_a_shortage(tmp_path: Path, name: str) -> None:
    with pytest.raises(ResourcesExhausted, match="was killed by signal 9"):
        list(source_of(tmp_path, "be killed", name=name))
    assert len(list(source_of(tmp_path, "It is late.", name=name))) == 1


def test_a_reader_that_cannot_be_started_is_a_shortage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    isolated._Process.close_idle()
    with monkeypatch.context() as patched:
        patched.setattr(isolated.subprocess, "Popen", fail)
        with pytest.raises(ResourcesExhausted, match="Too many open files"):
            list(source_of(tmp_path, "It is late."))
    assert len(list(source_of(tmp_path, "It is late."))) == 1


def test_an_idle_process_that_has_ended_is_replaced(tmp_path: Path) -> None:
    list(source_of(tmp_path, "One."))
    for each in isolated._Process._idle:
        each._process.kill()
        each._process.wait()
    assert len(list(source_of(tmp_path, "Two."))) == 1


def reader_at_work(source: Source) -> tuple[Iterator[object], int]:
    """The records of a source whose reader works on, and the reader's process."""
    records = iter(source)
    first = next(records)
    assert isinstance(first, Document)
    return records, int(first.parts[0].metadata["process"])  # type: ignore[arg-type]


def test_a_reader_ends_with_the_iteration(tmp_path: Path) -> None:
    records, process = reader_at_work(source_of(tmp_path, "It is late.", "work on"))
    with closing(records):  # type: ignore[type-var]
        assert is_running(process)
    until(lambda: not is_running(process))


def test_a_reader_at_work_is_interrupted(tmp_path: Path) -> None:
    def check() -> None:
        raise Interrupted

    records, process = reader_at_work(source_of(tmp_path, "It is late.", "work on"))
    with interruptible(check), pytest.raises(Interrupted):
        next(records)
    until(lambda: not is_running(process))
