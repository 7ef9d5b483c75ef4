"""Restorable embeddings learn to give texts back, go on from a checkpoint, and are loaded as they were saved."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.artifacts import load_artifact, save_artifact
from models.backbones.packages import DEFAULT
from models.encoders.hashing import HashingEncoder
from models.encoders.restorable.base import Restorer
from models.encoders.restorable.model import RestorableModel, load_restorer
from models.encoders.restorable.shape import RestorableShape
from models.errors import BackboneMismatch, BackboneMissing, InvalidInput
from research.restorable.assembly import load_variant
from research.training.loop import LoopHooks, Schedule
from research.training.restorable import RestorableConfig, anchor_loss, draw, read_lessons, train_restorable
from research.training.restorable_data import distinct, learned_texts, pattern, runs
from research.training.restorable_start import Start, begin

TEXTS = [
    "Where is my parcel?",
    "I want my money back.",
    "The red cat sat on the warm mat and slept until noon, when it rained again.",
    "Call 555-0199 at 7:30 pm, please!",
    "Naïve café, 12 €.",
    "My parcel is late and I want to cancel the order now.",
]
SHAPE = RestorableShape(dim=160, width=64, heads=2, hidden=64, encoder_layers=1, stretch=16, vectors=4)
ENCODER = HashingEncoder()


def start(shape: RestorableShape = SHAPE, backbone: str = "") -> Start:
    return begin(shape, TEXTS, 320, 5, backbone)


def config(folder: Path, begun: Start, steps: int = 6, **options: object) -> RestorableConfig:
    base = RestorableConfig(folder / "out", folder / "runs", tokens=200, slices=2, save_every=100)
    schedule = Schedule(steps=steps, rate=3e-3)
    return replace(base, schedule=schedule, shape=begun.network.shape, encoder="small-hash", **options)


def train(folder: Path, hooks: LoopHooks | None = None, **options: object) -> str:
    begun = start()
    run = config(folder, begun, **options)
    return train_restorable(run, begun, TEXTS, hooks, encoder=ENCODER.fingerprint).sha256


def load(folder: Path) -> RestorableModel:
    return load_variant(folder / "out", {"small-hash": ENCODER}.__getitem__)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RestorableModel:
    folder, threads = tmp_path_factory.mktemp("restorable"), torch.get_num_threads()
    torch.set_num_threads(1)  # before fixtures of functions do
    train(folder, steps=150)
    torch.set_num_threads(threads)
    return load(folder)


def test_texts_come_back_from_their_vectors_also_from_several(trained: RestorableModel) -> None:
    assert isinstance(trained, Restorer)
    memories = trained.encode(TEXTS)
    assert [memory.shape[1] for memory in memories] == [trained.dim] * 6
    assert max(map(len, memories)) > 1
    restored = trained.restore(memories)
    assert [each.text for each in restored] == TEXTS
    assert [each.text for each in trained.restore(memories, beams=3)] == TEXTS
    assert all(0 < each.confidence <= 1 for each in restored)


def test_a_text_does_not_depend_on_the_batch(trained: RestorableModel) -> None:
    memories = trained.encode(TEXTS)
    for text, memory in zip(TEXTS, memories, strict=True):
        np.testing.assert_allclose(trained.encode([text])[0], memory, atol=1e-3)
        assert trained.restore([memory])[0].text == text
    assert (trained.encode([]), trained.restore([])) == ([], [])


def test_half_precision_is_enough(trained: RestorableModel) -> None:
    halves = [memory.astype(np.float16).astype(np.float32) for memory in trained.encode(TEXTS)]
    assert [each.text for each in trained.restore(halves)] == TEXTS


def test_searches_compare_sentence_vectors(trained: RestorableModel) -> None:
    first, second = trained.encode([TEXTS[0], "Where is my parcel? Where is my parcel?"])
    compared = trained.compared
    assert compared == ENCODER.dim
    assert first[0, :compared] @ second[0, :compared] / compared > 0.9
    assert not trained.encode([""])[0][:, :compared].any()


def test_noise_lowers_the_confidence(trained: RestorableModel) -> None:
    (memory,) = trained.encode(TEXTS[:1])
    noise = np.random.default_rng(1).normal(size=memory.shape).astype(np.float32)
    (sure,), (unsure,) = trained.restore([memory]), trained.restore([memory + 2 * noise])
    assert unsure.confidence < sure.confidence


def test_a_limit_on_tokens_is_kept(trained: RestorableModel) -> None:
    (restored,) = trained.restore(trained.encode(TEXTS[2:3]), most_tokens=3)
    assert len(restored.tokens) <= 3
    assert TEXTS[2].startswith(restored.text)


@pytest.mark.parametrize(
    ("memory", "reason"),
    [
        (np.zeros((1, 7), np.float32), "length 7"),
        (np.full((1, 224), np.nan, np.float32), "NaN"),
        (np.full((1, 224), np.inf, np.float32), "infinity"),
        (np.zeros((5, 224), np.float32), "1 to 4"),
        (np.zeros((0, 224), np.float32), "1 to 4"),
    ],
)
def test_vectors_that_are_none_of_the_models_are_refused(trained: RestorableModel, memory, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        trained.restore([memory])


def test_a_text_that_is_too_long_is_refused_and_not_cut(trained: RestorableModel) -> None:
    with pytest.raises(InvalidInput, match=r"Text 1 has .* at most 64"):
        trained.encode(["a", " ".join(TEXTS)])


def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    made: list[int] = []
    train(tmp_path / "b", LoopHooks(lambda report: made.append(report.step), lambda: len(made) == 4))
    assert made == [1, 2, 3, 4]
    assert train(tmp_path / "b") == train(tmp_path / "a")
    with pytest.raises(InvalidInput, match="seed"):
        train(tmp_path / "a", seed=14)


def test_weights_of_another_encoder_or_without_vocabulary_are_refused(tmp_path: Path) -> None:
    train(tmp_path, steps=1)
    with pytest.raises(BackboneMismatch, match="small-hash"):
        load_restorer(tmp_path / "out", lambda name: HashingEncoder(dim=32))
    fingerprint = load(tmp_path).fingerprint
    assert fingerprint == load(tmp_path).fingerprint
    (tmp_path / "out" / "tokenizer.json").unlink()
    with pytest.raises(BackboneMissing, match="vocabulary"):
        load(tmp_path)


def test_cls_weights_are_used_as_they_were_trained_and_refused_if_they_were_without_a_token(tmp_path: Path) -> None:
    begun = start(replace(SHAPE, pooling="cls"))
    train_restorable(config(tmp_path, begun, steps=2), begun, TEXTS, encoder=ENCODER.fingerprint)
    again = RestorableModel(begun.network, begun.vocabulary, ENCODER, reader=begun.reader)
    for memory, expected in zip(load(tmp_path).encode(TEXTS), again.encode(TEXTS), strict=True):
        np.testing.assert_allclose(memory, expected, atol=0.05)
    artifact = load_artifact(tmp_path / "out")
    save_artifact(tmp_path / "out", artifact.tensors, {**artifact.config, "begins": False})
    with pytest.raises(BackboneMismatch, match="first word"):
        load(tmp_path)


@pytest.mark.parametrize("change", ["missing", "other shape", "more"])
def test_weights_that_do_not_fit_their_description_are_refused(tmp_path: Path, change: str) -> None:
    train(tmp_path, steps=1)
    artifact = load_artifact(tmp_path / "out")
    tensors = artifact.tensors
    name = "decoder.norm.weight"
    if change == "missing":
        del tensors[name]
    else:
        tensors["another" if change == "more" else name] = torch.zeros(3)
    save_artifact(tmp_path / "out", tensors, artifact.config)
    with pytest.raises(BackboneMismatch, match=r"do not fit config\.json: (another|decoder\.norm\.weight)"):
        load(tmp_path)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_backbone_may_read_the_texts(tmp_path: Path, frozen: bool) -> None:
    shape = replace(SHAPE, pooling="mean", frozen=frozen, encoder_layers=int(frozen))
    begun = start(shape, DEFAULT)
    assert begun.network.shape.vectors == 1
    before = {name: value.clone() for name, value in begun.network.backbone.named_parameters()}
    train_restorable(config(tmp_path, begun, steps=2), begun, TEXTS[:3], encoder=ENCODER.fingerprint)
    changed = any(not value.equal(before[name]) for name, value in begun.network.backbone.named_parameters())
    assert changed is not frozen
    stored = load_artifact(tmp_path / "out").arrays
    assert any(name.startswith("backbone.") for name in stored) is not frozen
    (memory,) = load(tmp_path).encode(TEXTS[:1])
    again = RestorableModel(begun.network, begun.vocabulary, ENCODER, reader=begun.reader).encode(TEXTS[:1])[0]
    np.testing.assert_allclose(memory, again, atol=0.05)


def test_layers_of_the_backbones_width_begin_as_its_mean_and_an_anchor_keeps_them_there(
    tmp_path: Path, backbone: Path
) -> None:
    states = start(replace(SHAPE, pooling="mean"), str(backbone)).network.shape.backbone_dim
    shape = replace(SHAPE, pooling="mean", width=states, heads=2, dim=states + 8, encoder_layers=1)
    begun = start(shape, str(backbone))
    lessons = read_lessons(TEXTS[:3], begun.vocabulary, begun.network.shape, begun.reader)
    assert anchor_loss(begun.network, lessons).item() < 0.02
    other = start(replace(shape, width=2 * states), str(backbone))
    assert anchor_loss(other.network, lessons).item() > 0.5
    drifted = {}
    for anchor in (0.0, 20.0):
        learning = start(shape, str(backbone))
        run = config(tmp_path / str(anchor), learning, steps=20, anchor=anchor)
        train_restorable(run, learning, TEXTS[:3], encoder=ENCODER.fingerprint)
        drifted[anchor] = anchor_loss(learning.network, lessons).item()
    assert drifted[20.0] < drifted[0.0]
    assert load_artifact(tmp_path / "20.0/out").config["anchor"] == 20.0
    for refused in (start(), start(replace(shape, dim=states // 2), str(backbone))):
        with pytest.raises(InvalidInput, match="at least as long"):
            anchor_loss(refused.network, lessons)


def test_batches_follow_from_seed_and_step_and_hold_texts_of_like_length() -> None:
    begun = start()
    lessons = read_lessons(TEXTS * 3, begun.vocabulary, begun.network.shape, begun.reader)
    first, again, other = (draw(lessons, 40, 3, 13, step) for step in (0, 0, 1))
    assert first == again != other
    lengths = [len(lesson.ids) for lesson in lessons]
    assert lengths == sorted(lengths)
    assert all(len(batch) == 1 or len(batch[0].ids) * len(batch) <= 80 for batch in first)


def test_material_is_made_of_sentences_and_their_runs() -> None:
    passages = [["A b.", "C d.", "E f."], ["G h."]]
    assert learned_texts(passages) == ["A b.", "C d.", "E f.", "G h.", "A b. C d. E f."]
    assert list(runs(passages, 1)) == ["A b.", "C d.", "E f.", "G h."]
    assert list(runs(passages, 1, {pattern("c d!")})) == ["A b.", "E f.", "G h."]
    assert list(runs([["I met Ann.", "Is 5 ok?"], ["So I go.", "Bye!"]], 2, {pattern("Is 12 ok")})) == ["So I go. Bye!"]
    assert distinct(["a", "b", "a", "c"], 2) == ["a", "b"]
