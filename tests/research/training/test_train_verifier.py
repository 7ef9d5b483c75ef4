"""Training of the second look: what it reads, what its losses ask for, and that a run can be interrupted."""

import gzip
import json
import random
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from models.artifacts import load_artifact
from models.errors import BackboneMismatch
from models.types import CharSpan
from models.verifier.types import Pair
from models.verifier.verdicts import Evidence
from models.verifier.verifier import RECIPE
from research.evaluation.contrast import CELLS, area, half_of, report
from research.training import verifier as recipe
from research.training.contrast_data import ContrastLine
from research.training.loop import CHECKPOINT, LoopHooks, Schedule
from research.training.verifier import (
    Batches,
    VerifierConfig,
    losses_of,
    odds_of,
    order_loss,
    taught_losses,
    train_verifier,
)
from research.training.verifier_data import Example, OtherTexts, examples_of, read_changed, read_public, turned
from research.training.verifier_scale import _regression
from tests.tiny_bert import save_tiny_bert

LINES = [
    ContrastLine(
        "a1",
        "general",
        "negation",
        "nobody saw the cat",
        "The cat stayed unseen.",
        "Nobody saw the cat.",
        "A dog saw the cat.",
        "It was seen.",
    ),
    ContrastLine(
        "a2",
        "general",
        "topic",
        "the door stood open",
        "It was green, and open.",
        "The door stood open.",
        "The cat stood.",
        "Rain fell.",
    ),
]
NLI = [
    {"sentence1": "a dog barked", "sentence2": "a cat barked", "gold_label": "contradiction", "category": "colors"},
    {"sentence1": "a dog barked", "sentence2": "a dog", "gold_label": "entailment", "category": "colors"},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    for name in ("contrast-nli", "snli", "stsb"):
        (folder / name).mkdir(parents=True)
    with zipfile.ZipFile(folder / "contrast-nli/breaking_nli_dataset.zip", "w") as archive:
        archive.writestr("data/dataset.jsonl", "\n".join(map(json.dumps, NLI)))
    neutral = json.dumps({"sentence1": "rain fell", "sentence2": "rain fell late", "gold_label": "neutral"})
    unlabelled = json.dumps({"sentence1": "rain", "sentence2": "rain", "gold_label": "-"})
    for name in ("contrast-nli/monli-nmonli_train", "contrast-nli/monli-pmonli", "snli/snli_1.0_dev"):
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(f"{neutral}\n{unlabelled}\n".encode()))
    graded = "main\tof\t2012\t1\t5.0\tthe cat sat\ta cat sat\nmain\tof\t2012\t2\t0.0\train fell\ta green door\n"
    (folder / "stsb/sts-train.csv.gz").write_bytes(gzip.compress(graded.encode()))
    return folder


@pytest.fixture
def config(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> VerifierConfig:
    (tmp_path / "bert").mkdir()
    monkeypatch.setattr(recipe, "read_contrast", lambda: LINES)
    return VerifierConfig(
        out=tmp_path / "verifier",
        checkpoints=tmp_path / "runs",
        data=data,
        backbone=str(save_tiny_bert(tmp_path / "bert")),
        device="cpu",
        frozen_layers=1,
        lines=2,
        others=2,
        public=2,
        save_every=2,
        schedule=Schedule(steps=4, rate=1e-3, average=0.5),
    )


def test_public_pairs_have_the_premise_as_their_text(data: Path) -> None:
    examples = read_public(data, (), seed=1)
    told = {(each.pair.phrase, each.pair.text): each for each in examples}
    assert told["a cat barked", "a dog barked"].differs == "object"
    assert told["a dog", "a dog barked"].verdict == "match"
    neutral = told["rain fell late", "rain fell"]
    assert (neutral.verdict, neutral.match) == (None, 0.0)
    assert told["the cat sat", "a cat sat"].match == told["a cat sat", "the cat sat"].match == pytest.approx(0.97)
    assert Counter(each.pair.phrase for each in examples)["rain"] == 0  # has no label


def test_the_texts_of_a_line_keep_their_order_and_a_topic_is_unrelated() -> None:
    marks: Sequence[CharSpan | None] = (None, CharSpan(0, 5), None, None)
    examples = examples_of(LINES[0], marks)
    assert [each.verdict for each in examples] == ["match", "match", "differs", "differs"]
    assert [each.differs for each in examples] == [None, None, "negation", "negation"]
    assert examples[1].pair.mark == CharSpan(0, 5)
    assert [each.verdict for each in examples_of(LINES[1], [None] * 4)][2:] == ["unrelated", "unrelated"]


def test_other_texts_are_never_of_the_own_line() -> None:
    own = {text for text, _ in LINES[0].pairs}
    mined = {"a1": [Pair("nobody saw the cat", "The cat stood.")]}
    texts, rng = OtherTexts(LINES, mined), random.Random(1)
    drawn = [texts.draw(0, rng) for _ in range(200)]
    assert not own & {each.pair.text for each in drawn}
    assert {each.verdict for each in drawn} == {None, "unrelated"}
    assert {each.match for each in drawn} == {0.0}


def test_changed_sentences_are_read(tmp_path: Path) -> None:
    rows = [
        {"phrase": "two days", "text": "three days", "label": "differs", "kind": "number"},
        {"phrase": "two days", "text": "a pair of days", "label": "match", "kind": "same"},
    ]
    path = tmp_path / "changed.ndjson"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert [(each.verdict, each.differs) for each in read_changed(path)] == [("differs", "number"), ("match", None)]


def test_losses_fall_as_the_right_logits_rise() -> None:
    examples = [each for line in LINES for each in examples_of(line, [None] * 4)]
    logits = torch.zeros(8, 13, requires_grad=True)
    losses = losses_of(logits, examples, (2, 4))
    torch.stack(list(losses.values())).sum().backward()
    assert logits.grad is not None
    match = logits.grad[:, 0]
    assert (match[[0, 1, 4, 5]] < 0).all()
    assert (match[[2, 3, 6, 7]] > 0).all()
    assert logits.grad[2, 3 + 2] < 0  # the third difference is negation
    ranked = torch.tensor([[4.0], [4.0], [-4.0], [-4.0]]).repeat(2, 1)
    better = losses_of(torch.cat([ranked, torch.zeros(8, 12)], dim=1), examples, (2, 4))
    assert better["ranking"] < losses["ranking"] / 10


def test_an_interrupted_run_ends_with_the_weights_of_any_other(config: VerifierConfig) -> None:
    whole = train_verifier(config, {}, {})
    averaged = load_file(config.checkpoints / CHECKPOINT)
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(array, averaged[f"average/{name}"].half().numpy())
    assert (whole.config["recipe"], whole.config["steps"], whole.config["frozen_layers"]) == (RECIPE, 4, 1)
    assert not any("layer.0." in name for name in whole.arrays)
    parted = replace(config, out=config.out.with_name("parted"), checkpoints=config.checkpoints / "parted")
    made = iter([False, True])
    train_verifier(parted, {}, {}, LoopHooks(stop=lambda: next(made)))
    train_verifier(parted, {}, {})
    for name, array in load_artifact(parted.out).arrays.items():
        np.testing.assert_array_equal(array, whole.arrays[name])


def test_a_teacher_is_followed_where_nothing_is_labelled(config: VerifierConfig) -> None:
    teacher = replace(config, out=config.out / "teacher", checkpoints=config.checkpoints / "teacher", frozen_layers=0)
    train_verifier(teacher, {}, {})
    mined = {"a1": [Pair("nobody saw the cat", "The cat stood.", CharSpan(0, 7))]}
    taught = replace(config, teacher=teacher.out, teacher_backbone=config.backbone, hits=3)
    drawn = Batches(taught, LINES, {}, mined).draw(1)
    assert [each.pair.text for each in drawn[-3:]] == ["The cat stood."] * 3
    artifact = train_verifier(taught, {}, mined)
    assert artifact.config["teacher"] == load_artifact(teacher.out).sha256
    alone = train_verifier(replace(config, out=config.out / "b", checkpoints=config.checkpoints / "b"), {}, mined)
    assert any((artifact.arrays[name] != array).any() for name, array in alone.arrays.items())


def test_the_verifier_that_a_run_starts_from_keeps_its_verdicts_on_hits(config: VerifierConfig) -> None:
    first = replace(config, out=config.out / "first", checkpoints=config.checkpoints / "first")
    train_verifier(first, {}, {})
    mined = {"a1": [Pair("nobody saw the cat", "The cat stood.", CharSpan(0, 7))]}
    going_on = replace(config, start=first.out, teacher=first.out, teacher_backbone=config.backbone, hits=3)
    alone = replace(going_on, teacher=None)  # the same hits are wrong ones, and lose probability
    near, far = (
        train_verifier(replace(each, out=config.out / name, checkpoints=config.checkpoints / name), {}, mined)
        for name, each in (("near", going_on), ("far", alone))
    )
    assert near.config["started_from"] == near.config["teacher"] == load_artifact(first.out).sha256
    assert far.config["teacher"] is None
    began, kept, lost = (
        odds_of(recipe._teacher(going_on, config.out / name).logits(mined["a1"])) for name in ("first", "near", "far")
    )
    assert lost < began
    assert abs(kept - began) < abs(lost - began)


@pytest.fixture
def labelled(monkeypatch: pytest.MonkeyPatch) -> list[list[Example]]:
    """Hits of two phrases: one that says it, one nearly, one that differs, and ten unrelated ones."""
    pairs = [Pair("nobody saw the cat", text) for text in ("The cat stayed unseen.", "Few saw it.", "A dog saw it.")]
    told = [Example(pairs[0], 1, "match"), Example(pairs[1], 0.4), Example(pairs[2], 0, "differs", "negation")]
    unrelated = [Example(Pair("nobody saw the cat", f"{number} doors."), 0, "unrelated") for number in range(10)]
    monkeypatch.setattr(recipe, "read_labelled", lambda data: [told + unrelated, unrelated])
    return [told + unrelated, unrelated]


def test_a_step_has_lists_of_labelled_hits_turned_lines_and_graded_pairs(
    config: VerifierConfig, labelled: list[list[Example]]
) -> None:
    taught = replace(config, labelled=2, turned=2, graded=3)
    lists = Batches(taught, LINES, {}, {}).draw_lists(1)
    assert [len(each) for each in (*lists[:2], lists[-1])] == [9, 9, 3]
    assert {len(each) for each in lists[2:4]} <= {2, 3}
    assert {each.match for each in lists[-1]} <= {0.0, 1.0}
    artifact = train_verifier(taught, {}, {})
    assert "research/data/hits" in artifact.config["data"]
    rows = (taught.checkpoints / "loss.csv").read_text().splitlines()
    assert {"labelled_verdict", "labelled_order", "graded"} <= set(rows[0].split(","))


def test_hits_that_surprise_are_drawn_more_often(config: VerifierConfig, labelled: list[list[Example]]) -> None:
    batches = Batches(replace(config, labelled=1), LINES, {}, {})
    batches.labelled = labelled[:1]
    batches.weigh([[9.0 if at == 12 else 0.0 for at in range(13)]])
    drawn = Counter(each.pair.text for step in range(300) for each in batches.draw_lists(step)[0])
    assert drawn["9 doors."] > 1.3 * drawn["8 doors."]
    assert drawn["The cat stayed unseen."] > 1.2 * drawn["8 doors."]  # a match
    assert drawn["8 doors."] == pytest.approx(drawn["7 doors."], rel=0.3)


def test_what_a_run_starts_from_is_asked_what_surprises_it(
    config: VerifierConfig, labelled: list[list[Example]]
) -> None:
    first = replace(config, out=config.out / "first", checkpoints=config.checkpoints / "first")
    train_verifier(first, {}, {})
    network = recipe._teacher(replace(config, teacher_backbone=config.backbone), first.out)
    for hits, surprises in zip(labelled, network.surprises(labelled), strict=True):
        odds = odds_of(network.logits([each.pair for each in hits])).double()
        says = torch.sigmoid(odds)
        match = torch.tensor([each.match for each in hits], dtype=torch.float64)
        kept = torch.special.xlogy(match, match / says) + torch.special.xlogy(1 - match, (1 - match) / (1 - says))
        assert surprises == pytest.approx(kept.tolist(), abs=1e-5)
    assert train_verifier(replace(config, start=first.out, labelled=2), {}, {}).config["started_from"]


def test_a_turned_line_keeps_what_is_known_of_its_texts() -> None:
    line, rng = LINES[0], random.Random(4)
    right, wrong = {line.same, line.same_close}, {line.differs, line.differs_far}
    phrases: Counter[str] = Counter()
    for _ in range(200):
        for each in turned(line, rng):
            phrase, text = each.pair.phrase, each.pair.text
            assert each.verdict in (None, "differs")
            assert (each.match == 0) == (phrase in wrong or text in wrong)
            assert phrase != text
            assert not {phrase, text} <= wrong
            phrases[phrase] += 1
    assert phrases.keys() == right | wrong
    assert {each.verdict for _ in range(9) for each in turned(LINES[1], rng)} <= {None, "unrelated"}


def test_an_order_costs_what_stands_above_a_better_pair() -> None:
    matches = torch.tensor([1.0, 0.4, 0.0])
    right, level, wrong = (
        order_loss(torch.tensor(odds), matches) for odds in ([5.0, 0, -5], [0.0, 0, 0], [-5.0, 0, 5])
    )
    assert right < level < wrong
    assert float(level) == pytest.approx(np.log(2), abs=1e-6)
    pairs = [(0.6, -5.0), (1.0, -10.0), (0.4, -5.0)]
    assert float(wrong) == pytest.approx(sum(by * np.log1p(np.exp(-odds)) for by, odds in pairs) / 2, abs=1e-4)
    assert order_loss(torch.zeros(2), torch.ones(2)) == 0


def test_a_teacher_needs_its_own_backbone(config: VerifierConfig) -> None:
    teacher = replace(config, out=config.out / "teacher", checkpoints=config.checkpoints / "teacher")
    train_verifier(teacher, {}, {})
    other = config.checkpoints / "other"
    other.mkdir()
    with pytest.raises(BackboneMismatch) as raised:
        train_verifier(replace(config, teacher=teacher.out, teacher_backbone=str(save_tiny_bert(other, 8))), {}, {})
    assert "--teacher-backbone" in raised.value.hint


def test_taught_losses_are_least_where_the_teacher_is_met() -> None:
    taught = torch.randn(6, 13, generator=torch.Generator().manual_seed(1))
    met, other = taught_losses(taught, taught), taught_losses(torch.zeros(6, 13), taught)
    assert met.keys() == other.keys()
    for name, loss in met.items():
        assert float(loss) == pytest.approx(0, abs=1e-5)
        assert float(other[name]) > 0.01


def test_a_report_counts_cells_as_a_loop_does() -> None:
    rng = np.random.default_rng(5)
    lines = [replace(LINES[0], id=f"x{number}") for number in range(30)]
    scores = rng.random((30, 4)).round(1)
    half = report(lines, scores, 0.5)
    chosen = [row for line, row in zip(lines, scores, strict=True) if half_of(line.id) == "reported"]
    assert half.lines == len(chosen)
    for name, (right, wrong) in CELLS.items():
        assert half.cells[name] == pytest.approx(sum(row[right] > row[wrong] for row in chosen) / len(chosen))
    pairs = [(r, w) for a in chosen for r in a[:2] for b in chosen for w in b[2:]]
    assert half.auc == pytest.approx(sum((r > w) + (r == w) / 2 for r, w in pairs) / len(pairs))
    assert area(np.array([1.0]), np.array([0.0])) == 1


def test_a_regression_finds_what_made_the_labels() -> None:
    rng = np.random.default_rng(2)
    rows = np.zeros((4_000, len(Evidence._fields)))
    rows[:, 1], rows[:, 2] = rng.normal(0, 2, 4_000), rng.integers(0, 2, 4_000)
    odds = 0.5 + 1.5 * rows[:, 1] - 2 * rows[:, 2]
    intercept, factors = _regression(rows, rng.random(4_000) < 1 / (1 + np.exp(-odds)), np.ones(4_000))
    assert intercept == pytest.approx(0.5, abs=0.2)
    assert factors[1] == pytest.approx(1.5, abs=0.2)
    assert factors[2] == pytest.approx(-2, abs=0.4)


def test_a_longer_sentence_keeps_the_pair_and_its_mark() -> None:
    texts, rng = OtherTexts(LINES, {}), random.Random(3)
    example = examples_of(LINES[0], [None, CharSpan(0, 5), None, None])[1]
    marked = example.pair.text[:5]
    for _ in range(100):
        longer = texts.within(example, rng)
        assert replace(longer, pair=example.pair) == example
        assert len(longer.pair.text) > len(example.pair.text)
        assert longer.pair.mark is not None
        assert longer.pair.text[longer.pair.mark.start : longer.pair.mark.end].lower() == marked.lower()
