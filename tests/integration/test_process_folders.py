"""Folders of processes: those in use stay, whoever sweeps; those of processes that are gone go."""

import errno
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from indexer import process_folders
from indexer.process_folders import ALIVE, in_use, is_in_use, process_folder, sweep


def left_behind(parent: Path, name: str, *, age_s: float = 0.0, alive: bool = True) -> Path:
    """What a process that was killed leaves: a folder whose lock nobody holds."""
    folder = parent / name
    folder.mkdir(parents=True)
    (folder / "catalog.sqlite3").write_bytes(b"texts")
    if alive:
        (folder / ALIVE).touch()
    for path in (*folder.iterdir(), folder):
        os.utime(path, times=(time.time() - age_s,) * 2)
    return folder


def killed(parent: Path) -> Path:
    """A folder of this machine, of a process that was killed."""
    with process_folder(parent) as folder:
        name = folder.name
    return left_behind(parent, name)


def test_it_is_there_while_the_block_runs(tmp_path: Path) -> None:
    with process_folder(tmp_path / "work") as mine, process_folder(tmp_path / "work") as other:
        sweep(tmp_path / "work")
        assert in_use(tmp_path / "work") == sorted([mine, other])
        assert mine != other
    assert list((tmp_path / "work").iterdir()) == []
    assert not is_in_use(mine)


def test_its_process_may_have_the_pid_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in two containers, both of pid 1, which see no process of each other."""
    monkeypatch.setattr(process_folders.socket, "gethostname", lambda: "other-container")
    with process_folder(tmp_path) as mine:
        sweep(tmp_path)
        assert mine.is_dir()


def test_that_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    folder = killed(tmp_path)
    with process_folder(tmp_path) as mine:
        assert list(tmp_path.iterdir()) == [mine]
    assert not folder.exists()


def test_that_of_another_machine_is_removed_when_it_was_silent_for_long(tmp_path: Path) -> None:
    beating = left_behind(tmp_path, "far-away-00000000-12345678")
    silent = left_behind(tmp_path, "far-away-00000000-12345679", age_s=3600)
    sweep(tmp_path)
    assert in_use(tmp_path) == [beating]
    assert not silent.exists()


@pytest.mark.parametrize("name", ["4242-12345678", "far-away-00000000-12345678"])
def test_one_without_a_lock_stays_for_a_day(tmp_path: Path, name: str) -> None:
    recent = left_behind(tmp_path / "recent", name, age_s=3600, alive=False)
    old = left_behind(tmp_path / "old", name, age_s=100_000, alive=False)
    sweep(recent.parent)
    sweep(old.parent)
    assert (recent.exists(), old.exists()) == (True, False)


def test_what_is_no_folder_of_a_process_stays(tmp_path: Path) -> None:
    left_behind(tmp_path, "lost+found", age_s=10**7, alive=False)
    (tmp_path / "lost+found-00000000-12345678").touch()
    sweep(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    assert in_use(tmp_path) == []


def test_one_that_is_swept_before_it_is_locked_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, names = process_folders._is_free, []

    def locked_by_a_sweeper(file: Path, held: ExitStack, flags: int = 0) -> bool:
        names.append(file.parent)
        if len(names) == 1:
            return False
        free = lock(file, held, flags)
        if len(names) == 2:
            file.unlink()
        return free

    monkeypatch.setattr(process_folders, "_is_free", locked_by_a_sweeper)
    with process_folder(tmp_path) as mine:
        assert mine == names[2]
        assert (mine / ALIVE).exists()


def test_without_locks_beats_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(process_folders, "flock", refused)
    with process_folder(tmp_path) as mine:
        sweep(tmp_path)
        assert in_use(tmp_path) == [mine]
        os.utime(mine / ALIVE, times=(0, 0))
        assert not is_in_use(mine)


def test_it_beats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beats: list[Callable[[], bool]] = []

    class Recorded(ExitStack):
        def __init__(self, beat: Callable[[], bool], *, every: float) -> None:
            super().__init__()
            beats.append(beat)

    monkeypatch.setattr(process_folders, "beating", Recorded)
    with process_folder(tmp_path) as mine:
        os.utime(mine / ALIVE, times=(0, 0))
        assert beats[0]()
        assert (mine / ALIVE).stat().st_mtime > 0
    assert beats[0](), "a folder that is gone ends nothing"
