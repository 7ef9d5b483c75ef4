"""Nuggets whitened by their collection: evener, the same tokens, and found again after a restart."""

import errno
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from models.encoders.hashing import HashingEncoder
from models.encoders.nuggets.base import NuggetEncoder, Nuggets
from models.encoders.nuggets.hashing import HashingNuggetEncoder
from models.encoders.nuggets.whitened import WINDOWS, WhitenedNuggets, fit_whitening, load_whitened
from models.errors import BackboneMissing
from models.ops.batching import even_windows

TRAINED = HashingNuggetEncoder(HashingEncoder(dim=8, window=6))
RATIO = 0.5


def some_texts(many: int) -> list[str]:
    """Texts that share a word, as those of a collection do."""
    rng = np.random.default_rng(7)
    return [" ".join(["contract", *(f"word{n}" for n in rng.integers(0, 500, 5))]) for _ in range(many)]


def nuggets_of(encoder: NuggetEncoder, texts: list[str]) -> list[Nuggets]:
    windows = [w for tokens in encoder.base.tokenize(texts) for w in even_windows(tokens.ids, encoder.base.window)]
    return [nuggets for ((_, nuggets),) in encoder.forward([[window] for window in windows if len(window)], RATIO)]


def vectors_of(encoder: NuggetEncoder, texts: list[str]) -> np.ndarray:
    return np.concatenate([nuggets.vectors for nuggets in nuggets_of(encoder, texts)])


def spread(vectors: np.ndarray) -> float:
    """How much farther vectors extend in one direction than in another."""
    variances = np.linalg.eigvalsh(vectors.T @ vectors)
    return float(variances[-1] / variances[0])


def test_the_matrix_is_that_of_the_definition() -> None:
    texts = some_texts(100)
    vectors = vectors_of(TRAINED, texts).astype(np.float64)
    moment = sum(np.outer(vector, vector) for vector in vectors) / len(vectors)
    shrunk = moment / np.trace(moment) * 8 + WINDOWS / 100 * np.eye(8)
    found = fit_whitening(TRAINED, texts, RATIO)
    np.testing.assert_allclose(found @ shrunk @ found, np.eye(8), atol=1e-5)
    np.testing.assert_allclose(found, found.T, atol=1e-7)


@pytest.mark.ci("fits to many vectors")
def test_nuggets_extend_more_evenly_the_more_texts_are_known() -> None:
    texts = some_texts(2 * WINDOWS)
    few, many = (WhitenedNuggets(TRAINED, fit_whitening(TRAINED, texts[:n], RATIO)) for n in (20, len(texts)))
    before, little, much = (spread(vectors_of(encoder, texts)) for encoder in (TRAINED, few, many))
    assert before > little > much
    assert little > 0.8 * before
    assert much < 0.75 * before


def test_the_same_tokens_are_chosen() -> None:
    texts = some_texts(3)
    whitened = WhitenedNuggets(TRAINED, fit_whitening(TRAINED, texts, RATIO))
    for one, other in zip(nuggets_of(TRAINED, texts), nuggets_of(whitened, texts), strict=True):
        np.testing.assert_array_equal(replace(one, vectors=other.vectors).tokens, other.tokens)
        np.testing.assert_array_equal(one.scores, other.scores)


@pytest.mark.parametrize("texts", [[], [""], ["", " "]])
def test_without_words_nuggets_stay_as_they_are(texts: list[str]) -> None:
    np.testing.assert_array_equal(fit_whitening(TRAINED, texts, RATIO), np.eye(8))


def test_a_sample_of_many_texts_is_the_same_each_time_and_is_of_all_of_them() -> None:
    texts = some_texts(3 * WINDOWS)
    found = fit_whitening(TRAINED, iter(texts), RATIO)
    np.testing.assert_array_equal(found, fit_whitening(TRAINED, texts, RATIO))
    assert np.abs(found - fit_whitening(TRAINED, texts[:WINDOWS], RATIO)).max() > 1e-4


@pytest.fixture
def whitened(tmp_path: Path) -> WhitenedNuggets:
    made = WhitenedNuggets(TRAINED, fit_whitening(TRAINED, some_texts(50), RATIO))
    made.save(tmp_path)
    return made


def test_it_is_found_again_by_its_fingerprint(whitened: WhitenedNuggets, tmp_path: Path) -> None:
    whitened.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    found = load_whitened(TRAINED, whitened.fingerprint, tmp_path)
    assert found is not None
    assert found.fingerprint == whitened.fingerprint != TRAINED.fingerprint
    np.testing.assert_array_equal(vectors_of(found, some_texts(2)), vectors_of(whitened, some_texts(2)))


def test_other_nuggets_have_none(whitened: WhitenedNuggets, tmp_path: Path) -> None:
    for fingerprint in (TRAINED.fingerprint, whitened.fingerprint[:-1], f"x{whitened.fingerprint}", ""):
        assert load_whitened(TRAINED, fingerprint, tmp_path) is None


def test_a_matrix_that_is_gone_damaged_or_another_is_told(whitened: WhitenedNuggets, tmp_path: Path) -> None:
    (path,) = tmp_path.iterdir()
    save_file({"matrix": np.eye(8, dtype=np.float32)}, path)
    with pytest.raises(BackboneMissing, match="does not hold") as caught:
        load_whitened(TRAINED, whitened.fingerprint, tmp_path)
    assert "backup" in caught.value.hint
    save_file({"other": np.eye(8, dtype=np.float32)}, path)
    with pytest.raises(BackboneMissing):
        load_whitened(TRAINED, whitened.fingerprint, tmp_path)
    path.write_bytes(b"no tensors")
    with pytest.raises(BackboneMissing):
        load_whitened(TRAINED, whitened.fingerprint, tmp_path)
    path.unlink()
    with pytest.raises(BackboneMissing):
        load_whitened(TRAINED, whitened.fingerprint, tmp_path)


def test_what_a_killed_process_left_is_removed_with_the_next_one(whitened: WhitenedNuggets, tmp_path: Path) -> None:
    (tmp_path / "other.safetensors.partial-00000000").write_bytes(b"half")
    whitened.save(tmp_path)
    whitened.save(tmp_path)
    assert [path.suffix for path in tmp_path.iterdir()] == [".safetensors"]


def test_those_who_save_at_once_do_not_remove_each_others_files(tmp_path: Path) -> None:
    matrices = [WhitenedNuggets(TRAINED, np.eye(8, dtype=np.float32) * number) for number in range(1, 41)]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(each.save, tmp_path) for each in matrices]:
            done.result()
    assert all(load_whitened(TRAINED, each.fingerprint, tmp_path) for each in matrices)


def test_where_there_are_no_locks_nothing_is_removed(
    whitened: WhitenedNuggets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("models.encoders.nuggets.whitened.flock", none)
    (tmp_path / "other.safetensors.partial-00000000").write_bytes(b"half")
    whitened.save(tmp_path)
    assert load_whitened(TRAINED, whitened.fingerprint, tmp_path)
    assert (tmp_path / "other.safetensors.partial-00000000").exists()
