"""Plots are written as what their ending says, or refused before anything is computed."""

import struct
from pathlib import Path

import pytest

from models.errors import InvalidInput
from research.evaluation.plots import check_format, save_curves

CURVES = {"slice:single_pass": {5: 0.7, 10: 0.8}, "untrained:single_pass": {5: 0.6, 10: 0.65}}


def test_a_png_is_written_into_a_new_folder(tmp_path: Path) -> None:
    path = tmp_path / "plots" / "sweep.png"
    save_curves(path, CURVES, "longest span", "Pearson's r")
    body = path.read_bytes()
    assert body[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", body[16:24])
    assert (width, height) == (900, 600)


def test_every_curve_is_drawn_and_named(tmp_path: Path) -> None:
    path = tmp_path / "sweep.svg"
    save_curves(path, CURVES, "longest span", "Pearson's r")
    drawing = path.read_text("utf-8")
    for text in (*CURVES, "longest span", "Pearson's r"):
        assert f"<!-- {text} -->" in drawing


@pytest.mark.parametrize("name", ["sweep", "sweep.txt", ".png"])
def test_an_ending_that_is_no_image_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be written") as refused:
        check_format(Path(name))
    assert "png" in refused.value.hint


@pytest.mark.parametrize("name", ["a.png", "b/c.svg", "d.pdf"])
def test_images_are_fine(name: str) -> None:
    check_format(Path(name))
