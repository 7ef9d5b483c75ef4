"""The sample corpus keeps its rules, and its figures are counted right."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indexer.errors import SourceUnreadable
from indexer.sources import Source
from models.encoders.hashing import HashingEncoder
from models.types import Document
from research.evaluation.sample import auc, evaluate_sample, read_phrases

SAMPLES = Path(__file__).parents[2] / "samples"
# Words that say nothing of what a phrase is about.
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about after again all am an and any are as at be because been before being but by can could did do
        does doesn doing don either for from had has have having he her hers him his how i if in into is isn
        it its itself just may me might more most must my neither no nor not of off on once only or other our
        out over own same shall she should so some such than that the their theirs them then there these they
        this those through to too under until up us very was we were what when where which while who whom why
        will with without would you your yours
        """,
    )
)


def words(text: str) -> list[str]:
    """Content words, each cut to five letters: enough to take most forms of a word for one."""
    found = re.findall(r"([a-z]+)(?:['\u2019][a-z]+)?", text.lower())
    return [word[:5] for word in found if word not in STOP_WORDS]


@pytest.fixture(scope="module")
def corpus() -> dict[str, Document]:
    records = list(Source(SAMPLES / "documents"))
    documents = {record.id: record for record in records if isinstance(record, Document)}
    assert len(documents) == len(records), "a bad line, or an id that occurs twice"
    return documents


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    paths = sorted(SAMPLES.glob("phrases*.ndjson"))
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def golds(lines: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in lines:
        for gold in line["gold"]:
            yield line["phrase"], gold


def test_there_are_enough_documents_of_three_kinds(corpus: dict[str, Document]) -> None:
    kinds = Counter(id.rpartition("-")[0] for id in corpus)
    assert len(corpus) >= 300
    assert len(kinds) == 3
    assert min(kinds.values()) >= 50
    assert all(len(document.parts) > 1 for document in corpus.values())


def test_there_are_enough_phrases_with_a_match_and_without(lines: list[dict[str, Any]]) -> None:
    assert sum(bool(line["gold"]) for line in lines) >= 60
    assert sum(not line["gold"] for line in lines) >= 15
    assert len({line["id"] for line in lines}) == len(lines)
    assert len({line["phrase"].lower() for line in lines}) == len(lines)
    assert all(words(line["phrase"]) for line in lines)


def places(document: Document) -> Iterator[tuple[int, int]]:
    """Where the parts lie in their document's text."""
    start = 0
    for part in document.parts:
        yield start, start + len(part.text)
        start += len(part.text) + 1


def test_gold_is_what_stands_there_within_one_part(corpus: dict[str, Document], lines: list[dict[str, Any]]) -> None:
    for phrase, gold in golds(lines):
        document = corpus[gold["document_id"]]
        assert document.text[gold["start"] : gold["end"]] == gold["text"] != "", phrase
        assert gold["text"] == gold["text"].strip(), phrase
        assert any(start <= gold["start"] and gold["end"] <= end for start, end in places(document)), phrase


def test_words_alone_do_not_find_the_gold(lines: list[dict[str, Any]]) -> None:
    told = []
    for phrase, gold in golds(lines):
        wanted, given = set(words(phrase)), set(words(gold["text"]))
        if 3 * len(wanted & given) > len(wanted):
            told.append(f"{phrase!r} / {gold['text']!r}: {wanted & given}")
    assert not told, "\n".join(told)


@pytest.mark.slow("indexes all samples")
def test_figures_are_shares(corpus: dict[str, Document], lines: list[dict[str, Any]]) -> None:
    figures = evaluate_sample(SAMPLES, HashingEncoder())
    assert figures.phrases == len(lines)
    assert list(asdict(figures)) == ["phrases", "top1", "top5", "f1", "bm25_top1", "no_match_auc"]
    assert 0 <= figures.top1 <= figures.top5 <= 1
    assert 0 <= figures.bm25_top1 <= 1
    assert 0 <= figures.no_match_auc <= 1


def sample(folder: Path, documents: list[dict[str, Any]], phrases: list[dict[str, Any]]) -> Path:
    (folder / "documents").mkdir()
    for path, values in (("documents/d.ndjson", documents), ("phrases.ndjson", phrases)):
        (folder / path).write_text("".join(json.dumps(value) + "\n" for value in values), "utf-8")
    return folder


def test_what_is_found_is_counted(tmp_path: Path) -> None:
    documents = [
        {"id": "a", "parts": [{"text": "green tea"}, {"text": "the red parcel went missing again"}]},
        {"id": "b", "text": "please cancel my subscription"},
    ]
    phrases = [
        {"phrase": "red parcel", "gold": [{"document_id": "a", "start": 14, "end": 24}]},
        {"phrase": "cancel it", "gold": [{"document_id": "b", "start": 7, "end": 29}]},
        {"phrase": "green tea", "gold": [{"document_id": "b", "start": 0, "end": 6}]},
        {"phrase": "blue sky", "gold": []},
    ]
    figures = evaluate_sample(sample(tmp_path, documents, phrases), HashingEncoder())
    # The second hit, "cancel", has one of three gold units: too few. BM25 needs the right part only.
    assert figures.phrases == 4
    assert figures.top1 == pytest.approx(1 / 3)
    assert figures.bm25_top1 == pytest.approx(2 / 3)
    assert figures.no_match_auc == 1


def test_a_folder_without_phrases(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="no phrases"):
        read_phrases(tmp_path)


def test_auc_counts_ties_half() -> None:
    assert auc(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 1
    assert auc(np.array([0.0]), np.array([1.0])) == 0
    assert auc(np.array([1.0, 1.0]), np.array([1.0])) == 0.5
    assert auc(np.array([3.0, 1.0]), np.array([2.0, 0.0, 1.0])) == pytest.approx((3 + 1.5) / 6)
