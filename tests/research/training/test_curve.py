"""The loss curve: what is written is what is read and drawn."""

from pathlib import Path

import numpy as np
import pytest

from research.training import curve
from research.training.curve import draw


def test_rows_are_read_as_they_were_written_without_the_seconds(tmp_path: Path) -> None:
    curve.append_row(tmp_path, 0, {"graded": 0.5, "paper": 0.25}, 1.5)
    curve.append_row(tmp_path, 1, {"graded": 0.125, "paper": 2.0}, 1.5)
    assert curve.read_losses(tmp_path) == {"graded": [0.5, 0.125], "paper": [0.25, 2.0]}
    curve.cut(tmp_path, 1)
    assert curve.read_losses(tmp_path) == {"graded": [0.5], "paper": [0.25]}
    curve.cut(tmp_path, 0)
    assert curve.read_losses(tmp_path) == {}


def test_a_picture_is_drawn_of_every_loss_and_their_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    savefig = curve.Figure.savefig

    def spy(figure: curve.Figure, *arguments: object, **options: object) -> None:
        drawn.append(figure)
        savefig(figure, *arguments, **options)

    monkeypatch.setattr(curve.Figure, "savefig", spy)
    for step in range(40):
        curve.append_row(tmp_path, step, {"graded": 1 / (step + 1), "paper": 2.0, "narrow": 0.5}, 0.1)
    draw(tmp_path)
    assert (tmp_path / curve.PICTURE).read_bytes().startswith(b"\x89PNG")
    (figure,) = drawn
    assert [axes.get_title() for axes in figure.axes] == ["sum", "graded", "paper", "narrow"]
    raw, smooth = figure.axes[0].lines
    np.testing.assert_allclose(raw.get_ydata(), [2.5 + 1 / (step + 1) for step in range(40)], atol=1e-5)
    assert smooth.get_ydata()[-1] == pytest.approx(np.mean(raw.get_ydata()[-3:]))


def test_nothing_is_drawn_where_no_step_has_been_made(tmp_path: Path) -> None:
    draw(tmp_path)
    assert list(tmp_path.iterdir()) == []
