"""``spanseek eval contrast`` and ``spanseek train verifier-scale``, from files to figures and to a scale."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from models.artifacts import record_checksums
from models.errors import InvalidInput
from models.verifier import verifier
from models.verifier.types import Judgement, Pair
from models.verifier.verdicts import Evidence
from research.evaluation.contrast import half_of
from research.training import labelled_hits
from research.training.labelled_hits import half_of_held_out
from research.training.verifier_data import Example
from research.training.verifier_scale import Pairs, evidence, fit_scale
from tests.research.command_line import run, run_json

TEXTS = {"a": "The red parcel never came.", "b": "Nobody saw the old cat.", "c": "Rain fell on seven blue houses."}
# The first is said in the corpus, as the phrase has it; of the others nothing is.
PHRASES = [("red parcel never came", "a", 4, 25), ("nobody saw the old cat", "b", 0, 22), ("two green doors", "", 0, 0)]
CONTRAST = ["eval", "contrast", "--contrast", "lines.ndjson", "--samples", "."]


class Reader:
    """A verifier that trusts texts in which somebody is happy, and no other."""

    def logits(self, pairs: Sequence[Pair]) -> np.ndarray:
        rows = np.zeros((len(pairs), 13), np.float32)
        rows[:, 0] = [6.0 if "happy" in pair.text else -6.0 for pair in pairs]
        return rows

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        return [Judgement(0.9, "match") if "happy" in pair.text else Judgement(0.1, "differs") for pair in pairs]


def write(path: Path, rows: Sequence[object]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANSEEK_ENCODER", "hashing")
    # Where it is looked up, for other commands import ``verifier_of`` by its name.
    monkeypatch.setattr(verifier, "open_verifier", lambda encoder, weights: Reader())
    lines = [
        {
            "id": f"x{number}",
            "domain": "general",
            "kind": "negation",
            "phrase": "she likes it",
            "same": "It makes her happy.",
            "same_close": "She is happy and likes it.",
            "differs": "She hates it.",
            "differs_far": "They never came.",
        }
        for number in range(8)
    ]
    write(tmp_path / "lines.ndjson", lines)
    (tmp_path / "documents").mkdir()
    write(tmp_path / "documents/all.ndjson", [{"id": id, "text": text} for id, text in TEXTS.items()])
    gold = [
        {"phrase": phrase, "gold": [{"document_id": id, "start": start, "end": end}] if id else []}
        for phrase, id, start, end in PHRASES
    ]
    write(tmp_path / "phrases.ndjson", gold)
    run("index", "--collection", "sample", "--source", "documents")
    return tmp_path


def test_both_looks_are_reported_for_both_halves(folder: Path) -> None:
    found = run_json(*CONTRAST)
    medians = found.pop("medians")
    assert (medians["best_span"], medians["lexical"]) == (0.1, 0.0)  # no word of *two green doors* is there
    assert found.keys() == {"chooses", "reported"}
    of_ids = [half_of(f"x{number}") for number in range(8)]
    for half, figures in found.items():
        assert figures["second"]["lines"] == of_ids.count(half)
        assert (figures["second"]["pairwise"], figures["second"]["auc"]) == (1.0, 1.0)
        assert figures["first"]["pairwise"] < 1
        ours = [phrase for phrase, id, *_ in PHRASES if half_of(phrase) == half and id]
        assert figures["phrases"] == figures["first_by_first"] == len(ours)
        assert figures["first_by_second"] == len(ours)  # nothing is likely, so all stays as it was found
        assert (figures["likely"], figures["wrong"], figures["answered"]) == (0, 0, 0)
    assert "second look" in run(*CONTRAST)


def test_phrases_without_a_match_are_asked_of_a_collection(folder: Path) -> None:
    write(folder / "none.ndjson", [{"phrase": f"a plain thing {number}"} for number in range(6)])
    found = run_json(*CONTRAST, "--no-match", "none.ndjson", "--collection", "sample")
    assert found["chooses"]["unmatched"] + found["reported"]["unmatched"] == 6 + 1
    with pytest.raises(InvalidInput, match="need a collection"):
        run(*CONTRAST, "--no-match", "none.ndjson")


def test_a_scale_is_written_beside_the_weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = folder / "verifier"
    weights.mkdir()
    (weights / "config.json").write_text(json.dumps({"recipe": "a"}), "utf-8")
    record_checksums(weights)
    command = ["train", "verifier-scale", "--contrast", "lines.ndjson", "--samples", ".", "--weights", str(weights)]
    plain = run_json(*command)
    config = json.loads((weights / "config.json").read_text("utf-8"))
    assert config["recipe"] == "a"
    assert config["scale"]["intercept"] == plain["intercept"]
    assert config["scale"]["weights"]["network"] == plain["network"] > 0
    hits = [labelled(f"phrase {number}", "She is happy.", says=False) for number in range(40)]
    monkeypatch.setattr(labelled_hits, "read_labelled", lambda data, held_out: [[each] for each in hits])
    assert run_json(*command, "--data", str(folder))["network"] < plain["network"]


def labelled(phrase: str, text: str, *, says: bool) -> Example:
    return Example(Pair(phrase, text, similarity=0.9), float(says), "match" if says else "differs")


def test_labelled_hits_move_the_scale_if_their_phrases_choose() -> None:
    names = [f"phrase {number}" for number in range(60)]
    pairs = [Pair("a cat", "happy", similarity=0.8), Pair("a cat", "sad", similarity=0.7)]
    rows = [(f"cat {number}", pairs, [True, False]) for number in range(30)]

    read = evidence(Reader(), [Pair("a cat", "happy", similarity=0.9)])[0]  # type: ignore[arg-type]

    def probability(*halves: str) -> float:
        """Of such a hit, if those of the phrases of these halves are labelled as wrong."""
        hits = [[labelled(name, "happy", says=False)] for name in names if half_of_held_out(name) in halves]
        return fit_scale(Reader(), Pairs([], rows, [], hits)).probability(Evidence(*read))  # type: ignore[arg-type]

    assert probability("reported") == probability() > 0.9
    assert probability("chooses") < probability()
