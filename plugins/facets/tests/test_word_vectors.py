"""Word vectors: the words of texts, and the facets that belong to them."""

from pathlib import Path

import numpy as np
import pytest

from models.errors import BackboneMismatch
from spanseek_facets.word_vectors import WordVectors, split_words

ROWS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]], np.float32)
VECTORS = WordVectors(("tea", "the", "cup"), ROWS, np.array([0.5, 0.3, 0.2]))


def test_words_are_letters_and_digits() -> None:
    assert " ".join(split_words("Don't (ever) re-read 3.5 pages_now")) == "don t ever re read 3 5 pages now"
    assert VECTORS.text_ids("The tea, or a cup").tolist() == [1, 0, 2]


def test_facets_refuse_other_word_vectors(tmp_path: Path) -> None:
    import torch

    from models.artifacts import save_artifact
    from spanseek_facets.model import load_facets

    save_artifact(tmp_path / "facets", {"x": torch.zeros(1)}, {"word_vectors_sha256": "other"})
    with pytest.raises(BackboneMismatch, match="other word vectors"):
        load_facets(tmp_path / "facets", VECTORS)
