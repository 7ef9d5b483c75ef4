"""The formats of this distribution are found, each is read, and a library that is missing is named."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from indexer.sources import BadRecord, Source
from models.types import Document
from tests.pdf_files import pdf, shown
from tests.word_files import paragraph, run, word_file

WORD = word_file(paragraph(run("Cancel it.")))


def test_entry_points_name_functions() -> None:
    points = [*entry_points(group="spanseek.documents"), *entry_points(group="spanseek.sources")]
    assert {point.name for point in points} >= {"docx", "eml", "mbox", "pdf", "xlsx"}
    assert all(callable(point.load()) for point in points)


@pytest.mark.parametrize(("name", "data"), [("x.docm", WORD), ("x.docx", WORD), ("x.pdf", pdf(shown("Cancel it.")))])
def test_a_file_is_read_beside_a_broken_one(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    (tmp_path / f"y{name}").write_bytes(b"\xff\x00 nonsense")
    good, bad = Source(tmp_path)
    assert isinstance(good, Document)
    assert good.text == "Cancel it."
    assert isinstance(bad, BadRecord)


@pytest.mark.parametrize(("ending", "library"), [(".pdf", "pypdfium2"), (".docx", "lxml")])
def test_a_library_that_is_not_installed_is_named(
    tmp_path: Path, ending: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    path = tmp_path / f"x{ending}"
    path.write_bytes(WORD if ending == ".docx" else pdf(shown("Cancel it.")))
    (bad,) = Source(path)
    assert isinstance(bad, BadRecord)
    assert bad.reason.endswith("run: pip install 'spanseek[files]'")
