"""Files of word vectors: what is saved is read again, from weights or from the text files of others."""

from pathlib import Path

import numpy as np
import pytest

from models.errors import InvalidInput
from research.training.word_vector_files import read_word_vectors, save_word_vectors, stop_ids
from spanseek_facets.word_vectors import WordVectors, load_word_vectors

ROWS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]], np.float32)
VECTORS = WordVectors(("tea", "the", "cup"), ROWS, np.array([0.5, 0.3, 0.2]))


def test_saved_vectors_come_back_within_the_steps_of_int8(tmp_path: Path) -> None:
    sha256 = save_word_vectors(tmp_path / "words", VECTORS, {"recipe": "test"})
    loaded = load_word_vectors(tmp_path / "words")
    assert loaded.words == VECTORS.words
    assert loaded.sha256 == sha256
    np.testing.assert_allclose(loaded.vectors, VECTORS.vectors, atol=1 / 127)
    np.testing.assert_allclose(loaded.shares, VECTORS.shares, rtol=1e-6)


def test_a_list_of_other_words_is_refused(tmp_path: Path) -> None:
    save_word_vectors(tmp_path / "words", VECTORS, {})
    (tmp_path / "words" / "words.txt").write_text("tea\n", "utf-8")
    with pytest.raises(InvalidInput, match="1 words for 3 vectors"):
        load_word_vectors(tmp_path / "words")


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_text_files_of_glove_and_word2vec_are_read(tmp_path: Path, header: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(header + "Tea 3 4\ntea 1 0\ncup 0 2\n", "utf-8")
    loaded = read_word_vectors(path)
    assert loaded.words == ("tea", "cup")
    np.testing.assert_allclose(loaded.vectors, [[0.6, 0.8], [0, 1]])
    assert loaded.shares[0] > loaded.shares[1]
    assert loaded.sha256


def test_words_of_text_files_may_hold_spaces(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("tea 3 4\n. . 1 0\nat name@domain.com 0 2\n", "utf-8")
    loaded = read_word_vectors(path)
    assert loaded.words == ("tea", ". .", "at name@domain.com")
    np.testing.assert_allclose(loaded.vectors, [[0.6, 0.8], [1, 0], [0, 1]])


@pytest.mark.parametrize("text", ["tea 1 x\n", "tea 1 2\ncup 1\n", "tea 1 2\n1 2\n", "tea\n", "tea 1 2\n\n", ""])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=r"vectors\.txt is no file of word vectors"):
        read_word_vectors(path)


def test_stop_words_are_named() -> None:
    assert stop_ids(VECTORS).tolist() == [1]
