"""Perplexity, auto-encoding and selection on a tiny network: what history can and cannot change."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.artifacts import Artifact
from models.backbones.torch_network import load_backbone
from models.encoders.nuggets.slice import SliceNuggetEncoder
from models.encoders.slice import SliceEncoder
from models.errors import InvalidInput
from research.evaluation.auto_encoding import AutoEncodingReport, decode_all, selector_of
from research.evaluation.nugget_lm import (
    LmReport,
    TokenLosses,
    evaluate_language_models,
    loss_gain,
    segments_of,
    token_losses,
)
from research.evaluation.nugget_selection import chosen_tokens, single_nugget_gains
from research.nugget_lm.histories import Kind, gather, kept_histories
from research.nugget_lm.nugget_lm import LmShape, load_language_model
from research.nugget_lm.segments import Segments, cut_segments
from research.training.loop import Schedule
from research.training.nugget_lm import NuggetLmConfig, train_nugget_lm
from tests.tiny_bert import PROSE, save_tiny_bert

TEXTS = [f"{PROSE} {PROSE}", "the cat sat <unk> the dog", PROSE]
LENGTH = 8


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Matrices as small as these are multiplied before a second thread has come to help."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> SliceNuggetEncoder:
    folder = save_tiny_bert(tmp_path_factory.mktemp("bert"))
    return SliceNuggetEncoder(SliceEncoder(load_backbone(str(folder), device="cpu")), layer=1)


@pytest.fixture(scope="module")
def segments(encoder: SliceNuggetEncoder) -> Segments:
    return segments_of(encoder, TEXTS, LENGTH, None)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> NuggetLmConfig:
    folder = tmp_path_factory.mktemp("lm")
    return NuggetLmConfig(
        out=folder / "weights",
        checkpoints=folder / "checkpoints",
        cache=folder / "cache",
        ratios=(0.5,),
        predicted=2,
        encoded=4,
        shape=LmShape(width=16, layers=1, heads=2, segment=LENGTH, history=4),
        schedule=Schedule(steps=60, rate=1e-2),
    )


@pytest.fixture(scope="module")
def artifact(encoder: SliceNuggetEncoder, config: NuggetLmConfig) -> Artifact:
    return train_nugget_lm(config, encoder, [PROSE, PROSE])


def blind(artifact: Artifact) -> Artifact:
    """The same model, whose attention to what stands for segments comes to nothing."""
    silenced = {name: np.zeros_like(array) if "cross_out" in name else array for name, array in artifact.arrays.items()}
    return replace(artifact, arrays=silenced)


def test_history_changes_nothing_for_a_model_that_cannot_see_it(
    artifact: Artifact, encoder: SliceNuggetEncoder, segments: Segments, tmp_path: Path
) -> None:
    models: dict[str, tuple[Artifact, Kind]] = {
        "nuggets": (artifact, "nuggets"),
        "blind": (blind(artifact), "nuggets"),
    }
    report = evaluate_language_models(models, encoder, segments, tmp_path, (0, 1, 2, 4))
    curves = report.curves()
    assert len(set(curves["blind"].values())) == 1
    assert len(set(curves["nuggets"].values())) == 4
    gains = report.as_json()["history_gains"]
    assert gains["blind"] == {h: {"difference": 0.0, "lower": 0.0} for h in (1, 2, 4)}


def test_a_text_is_predicted_from_its_own_segments_alone(
    artifact: Artifact, encoder: SliceNuggetEncoder, segments: Segments, tmp_path: Path
) -> None:
    model = load_language_model(artifact, encoder)
    together = token_losses(model, encoder, segments, kept_histories(encoder, segments, (0.5,), tmp_path)["nuggets"], 4)
    alone = segments_of(encoder, TEXTS[2:], LENGTH, None)
    found = token_losses(model, encoder, alone, kept_histories(encoder, alone, (0.5,), tmp_path)["nuggets"], 4)
    np.testing.assert_allclose(found.losses, together.losses[-len(alone) :], atol=1e-5)


def test_a_token_does_not_see_itself_nor_those_behind(
    artifact: Artifact, encoder: SliceNuggetEncoder, tmp_path: Path
) -> None:
    model = load_language_model(artifact, encoder)
    backbone = encoder.base.backbone
    one, other = (
        cut_segments(backbone.tokenize([text]), LENGTH, -1)
        for text in ("it was late and the cat", "it was late , a dog")
    )
    found = [
        token_losses(model, encoder, cut, kept_histories(encoder, cut, (0.5,), tmp_path)["nuggets"], 0).losses[0]
        for cut in (one, other)
    ]
    np.testing.assert_allclose(found[0][:3], found[1][:3], atol=1e-5)
    assert abs(found[0][3] - found[1][3]) > 1e-3


def test_words_that_nobody_knows_do_not_count(segments: Segments, artifact: Artifact, encoder, tmp_path: Path) -> None:
    model = load_language_model(artifact, encoder)
    read = kept_histories(encoder, segments, (0.5,), tmp_path)["nuggets"]
    found = token_losses(model, encoder, segments, read, 1)
    tokens = np.concatenate(segments.windows)
    assert found.scored.sum() == (tokens != segments.unknown).sum() < len(tokens)
    assert (found.losses[~found.scored] == 0).all()


def test_perplexity_is_that_of_all_tokens(artifact: Artifact, encoder, segments: Segments, tmp_path: Path) -> None:
    report = evaluate_language_models({"nuggets": (artifact, "nuggets")}, encoder, segments, tmp_path, (0, 2))
    model = load_language_model(artifact, encoder)
    backbone = encoder.base.backbone
    total, tokens = 0.0, 0
    read = kept_histories(encoder, segments, (0.5,), tmp_path)["nuggets"]
    for number, window in enumerate(segments.windows):
        given = torch.tensor([[int(backbone.pad([window])[0][0, 0]), *window[:-1]]])
        with torch.inference_mode():
            states = model.states(given, gather(read, [segments.before(number, 2)], [number]))
            likely = model.predict.log_likelihoods(states[0])
        for place, token in enumerate(window):
            if token != segments.unknown:
                total, tokens = total - float(likely[place, token]), tokens + 1
    assert report.curves()["nuggets"][2] == pytest.approx(np.exp(total / tokens), rel=1e-4)


def test_gains_over_the_mean_are_told_for_every_history() -> None:
    scored = np.ones((3, 2), bool)
    low, high = (TokenLosses(np.full((3, 2), value, np.float32), scored) for value in (1.0, 1.5))
    figures = LmReport({"nuggets": {0: high, 1: low}, "mean": {0: high, 1: high}}).as_json()
    assert figures["gains_over_mean"] == {
        "nuggets": {0: {"difference": 0.0, "lower": 0.0}, 1: {"difference": 0.5, "lower": 0.5}}
    }
    assert figures["history_gains"]["mean"] == {1: {"difference": 0.0, "lower": 0.0}}
    assert (figures["segments"], figures["tokens"]) == (3, 6)


def test_a_gain_that_one_segment_alone_has_is_not_sure() -> None:
    scored = np.ones((8, 1), bool)
    theirs = TokenLosses(np.ones((8, 1), np.float32), scored)
    ours = TokenLosses(np.array([[0.0]] + [[1.0]] * 7, np.float32), scored)
    found = loss_gain(ours, theirs)
    assert found["difference"] == pytest.approx(1 / 8)
    assert found["lower"] == 0


@pytest.mark.parametrize("histories", [(0, 9), (5,)])
def test_a_longer_history_than_was_learnt_is_refused(
    artifact: Artifact, encoder, segments: Segments, tmp_path: Path, histories: tuple[int, ...]
) -> None:
    with pytest.raises(InvalidInput, match="looks back 4"):
        evaluate_language_models({"nuggets": (artifact, "nuggets")}, encoder, segments, tmp_path, histories)


def test_more_is_said_right_with_nuggets_than_without(artifact: Artifact, encoder, tmp_path: Path) -> None:
    backbone = encoder.base.backbone
    segments = cut_segments(backbone.tokenize([PROSE]), LENGTH, -1)
    found = decode_all(artifact, encoder, segments, tmp_path, (0.5, 1.0))
    assert list(found) == [0.0, 0.5, 1.0]
    assert found[0.5].accuracy > found[0.0].accuracy
    lengths = [len(window) for window in segments.windows]
    assert found[0.5].vectors == pytest.approx(np.mean([-(-length // 2) for length in lengths]))
    assert found[1.0].vectors == pytest.approx(np.mean(lengths))
    blinded = decode_all(blind(artifact), encoder, segments, tmp_path, (0.5, 1.0))
    assert len({row.accuracy for row in blinded.values()}) == 1
    figures = AutoEncodingReport({selector_of(artifact): found, "chunk": blinded}).as_json()
    assert figures["tokens"] == sum(lengths)
    gain = figures["gains_of_learned"]["chunk"][0.5]["difference"]
    assert gain == pytest.approx(found[0.5].accuracy - blinded[0.5].accuracy, abs=1e-5)


def test_shares_of_chosen_tokens(encoder, segments: Segments, tmp_path: Path) -> None:
    read = kept_histories(encoder, segments, (0.5,), tmp_path)["nuggets"]
    chosen = chosen_tokens(encoder.base.backbone, segments, read, 100)
    assert sum(one.of_nuggets for one in chosen) == pytest.approx(1, abs=1e-4)
    assert [one.of_nuggets for one in chosen] == sorted((one.of_nuggets for one in chosen), reverse=True)
    ids = np.concatenate(segments.windows)
    words = {encoder.base.backbone.token(int(token)): float((ids == token).mean()) for token in set(ids.tolist())}
    assert all(one.of_text == pytest.approx(words[one.token], abs=1e-5) for one in chosen)


def test_single_nuggets_of_a_blind_model_gain_nothing(artifact: Artifact, encoder, segments, tmp_path: Path) -> None:
    read = kept_histories(encoder, segments, (0.5,), tmp_path)["nuggets"]
    backbone = encoder.base.backbone
    seeing, blinded = (
        single_nugget_gains(load_language_model(each, encoder), backbone, segments, read, 3)
        for each in (artifact, blind(artifact))
    )
    assert set(blinded.by_distance.values()) == {0.0}
    assert max(abs(gain) for gain in seeing.by_distance.values()) > 0.01
    assert seeing.by_place.keys() == seeing.nugget_places.keys() == {0, 1, 2, 3}
    assert all(sum(shares.values()) == pytest.approx(1) for shares in seeing.nugget_places.values())
