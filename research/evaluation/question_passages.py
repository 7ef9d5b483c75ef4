"""Questions and the passages that answer them: QED, XQuAD and SciFact, some to learn from, others to measure by."""

import ast
import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path

_SHARE = 2  # one question of QED in two is learnt from
_DEV_SHARE = 5  # and of those one in five is for choosing; odd, because crc32 % 2 chose already
_CLOZE_SENTENCES = 3


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions, passages, and the places of the passages that answer each question."""

    questions: tuple[str, ...]
    passages: tuple[str, ...]
    answers: tuple[frozenset[int], ...]


def read_questions(data: Path) -> tuple[QuestionSet, dict[str, QuestionSet]]:
    """Read the set to learn from (half of QED, the claims of SciFact's training file), and the sets that are measured.

    Passages of QED that answer a question of the training half are in its test set, too, as passages alone.
    """
    qed, scifact = _qed(data / "qed/qed-dev.jsonlines.gz"), data / "scifact"
    train = [row for row in qed if _is_learned(row[0])]
    learned = _joined(_set(train), _scifact(scifact, "claims_train.csv", whole=False))
    measured = {
        "qed": _set([row for row in qed if not _is_learned(row[0])], [text for _, text in train]),
        "xquad": _set(_xquad(data / "xquad/xquad.en.json.gz")),
        "scifact": _scifact(scifact, "claims_validation.csv", whole=True),
    }
    return learned, measured


def development(learned: QuestionSet) -> tuple[QuestionSet, dict[str, QuestionSet]]:
    """Of what is learnt from, four fifths, and the other questions to choose by; both rank all its passages."""
    held = [_number(question) % _DEV_SHARE == 0 for question in learned.questions]
    return _chosen(learned, [not each for each in held]), {"dev": _chosen(learned, held)}


def with_pairs(learned: QuestionSet, pairs: Iterable[tuple[str, str]]) -> QuestionSet:
    """The same and more questions, each with its passage."""
    return _joined(learned, _set(list(pairs)))


def cloze_pairs(paragraphs: Iterable[Sequence[str]], most: int) -> Iterator[tuple[str, str]]:
    """A sentence of each paragraph of three or more as the question, and the others as its passage.

    This is the inverse cloze task (Lee et al., 2019). The paragraph decides which sentence.

    >>> list(cloze_pairs([["A b.", "C d.", "E f."], ["G h."]], 2))
    [('A b.', 'C d. E f.')]
    """
    long = (paragraph for paragraph in paragraphs if len(paragraph) >= _CLOZE_SENTENCES)
    for paragraph in islice(long, most):
        place = _number(" ".join(paragraph)) % len(paragraph)
        yield paragraph[place], " ".join([*paragraph[:place], *paragraph[place + 1 :]])


def _chosen(questions: QuestionSet, is_chosen: Sequence[bool]) -> QuestionSet:
    kept = tuple(compress(questions.questions, is_chosen)), tuple(compress(questions.answers, is_chosen))
    return QuestionSet(kept[0], questions.passages, kept[1])


def _is_learned(question: str) -> bool:
    return _number(question) % _SHARE == 0


def _number(text: str) -> int:
    return zlib.crc32(text.encode())


def _set(rows: list[tuple[str, str]], others: list[str] | None = None) -> QuestionSet:
    passages = tuple(dict.fromkeys([text for _, text in rows] + (others or [])))
    places = {text: place for place, text in enumerate(passages)}
    return QuestionSet(
        tuple(question for question, _ in rows), passages, tuple(frozenset([places[text]]) for _, text in rows)
    )


def _joined(first: QuestionSet, second: QuestionSet) -> QuestionSet:
    moved = tuple(frozenset(place + len(first.passages) for place in places) for places in second.answers)
    return QuestionSet(first.questions + second.questions, first.passages + second.passages, first.answers + moved)


def _qed(path: Path) -> list[tuple[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [(row["question_text"], row["paragraph_text"]) for row in rows]


def _xquad(path: Path) -> list[tuple[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        articles = json.load(file)["data"]
    return [
        (question["question"], paragraph["context"])
        for article in articles
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]


def _scifact(folder: Path, claims: str, *, whole: bool) -> QuestionSet:
    """Claims with an abstract that speaks of them; ``whole`` ranks all abstracts, not only those."""
    with gzip.open(folder / "corpus_train.csv.gz", "rt", encoding="utf-8", newline="") as file:
        texts = {row["doc_id"]: f"{row['title']} {' '.join(_list(row['abstract']))}" for row in csv.DictReader(file)}
    gold: dict[str, set[str]] = {}
    with (folder / claims).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["evidence_doc_id"]:
                gold.setdefault(row["claim"], set()).add(row["evidence_doc_id"])
    kept = list(texts) if whole else list(dict.fromkeys(one for ids in gold.values() for one in sorted(ids)))
    places = {number: place for place, number in enumerate(kept)}
    return QuestionSet(
        tuple(gold),
        tuple(texts[number] for number in kept),
        tuple(frozenset(places[number] for number in ids) for ids in gold.values()),
    )


_list: Callable[[str], list[str]] = ast.literal_eval
