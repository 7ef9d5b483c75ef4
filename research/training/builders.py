"""Triplets and graded pairs made from the known sets of a data folder, for ``spanseek train slice`` to read.

Negatives are on the topic of their query: one that shares no word with it is too easy to teach anything.
"""

import gzip
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from models.errors import InvalidInput
from research.training.own_texts import Triplet
from research.training.sources import (
    GradedPair,
    fold,
    lines,
    need,
    read_forum_pairs,
    read_graded_pairs,
    sentences,
    split_sentences,
    untokenized,
)
from research.training.texts import index_by_word, words_of

PARAPHRASE = 0.8  # graded pairs from here on mean the same
_MOST_SHARED = 1 / 3  # a text that shares more of the query's words may mean the same


@dataclass(frozen=True, slots=True)
class Kind:
    """Rows of one kind: what they are, the licence of their texts, whether they are made unless kinds are named."""

    what: str
    licence: str
    rows: Callable[[Path], Iterable[Triplet | GradedPair]]
    by_default: bool = True


def build(
    kinds: Mapping[str, Kind], names: Sequence[str], data: Path, out: Path, excluded: Iterable[str] = ()
) -> dict[str, int]:
    """Write rows of some kinds to an NDJSON file, but those with an excluded text; returns how many of each.

    Every line names its kind. Without names, the kinds are those that are made by default.
    """
    unknown = sorted(set(names) - kinds.keys())
    if unknown:
        raise InvalidInput(f"There is no kind {unknown[0]!r}.", hint=f"Kinds are: {', '.join(kinds)}.", field="kind")
    unwanted = {fold(text) for text in excluded}
    counts = dict.fromkeys(names or [name for name, kind in kinds.items() if kind.by_default], 0)
    out.parent.mkdir(parents=True, exist_ok=True)
    # Half of the rows look like all of them, so a file that was not finished has another name.
    partial = out.with_name(f"{out.name}.partial")
    with partial.open("w", encoding="utf-8") as file:
        for name in counts:
            for row in map(asdict, kinds[name].rows(data)):
                if unwanted.isdisjoint(fold(text) for text in row.values() if isinstance(text, str)):
                    file.write(json.dumps(row | {"kind": name}, ensure_ascii=False) + "\n")
                    counts[name] += 1
    partial.replace(out)
    return counts


def _entailments(data: Path) -> Iterator[Triplet]:
    """A caption, what follows from it, and what contradicts it."""
    for caption, labelled in _captions(data).items():
        for positive in labelled.get("entailment", ()):
            for negative in labelled.get("contradiction", ()):
                yield Triplet(caption, positive, negative)


def _captions(data: Path) -> dict[str, dict[str, list[str]]]:
    """The sentences people wrote to every caption of SNLI, by their label."""
    captions: dict[str, dict[str, list[str]]] = {}
    for line in lines(data / "snli/snli_1.0_dev.jsonl.gz"):
        row = json.loads(line)
        captions.setdefault(row["sentence1"], {}).setdefault(row["gold_label"], []).append(row["sentence2"])
    return captions


def _paraphrases(data: Path) -> Iterator[Triplet]:
    """The two sentences of a pair graded 4 or 5 of 5, and another that shares a word with the first."""
    pairs = read_graded_pairs(data)
    distractors = Distractors([text for pair in pairs for text in (pair.query, pair.paraphrase)], "paraphrases")
    alike = ((pair.query, pair.paraphrase) for pair in pairs if pair.score >= PARAPHRASE)
    return distractors.triplets(alike)


def _splits(data: Path) -> Iterator[Triplet]:
    """A sentence, the longer one that says it among other things, and a longer one that shares a word with it."""
    rows = list(split_sentences(data))
    distractors = Distractors([long for long, _ in rows], "splits")
    return distractors.triplets((short, long) for long, parts in rows for short in parts)


def _qed(data: Path) -> Iterator[Triplet]:
    """A question, the sentence that answers it, and another sentence of the paragraph."""
    rng = random.Random("qed")  # noqa: S311  sampling, not secrets
    rows = map(json.loads, lines(data / "qed/qed-dev.jsonlines.gz"))
    for row in (row for row in rows if row["annotation"]["explanation_type"] == "single_sentence"):
        text, begins = row["paragraph_text"], row["sentence_starts"]
        chosen = row["annotation"]["selected_sentence"]["start"]
        sentences_by_start = {
            begin: untokenized(text[begin:end]).strip() for begin, end in pairwise([*begins, len(text)])
        }
        yield from _question(row["question_text"], sentences_by_start.pop(chosen), sentences_by_start.values(), rng)


def _xquad(data: Path) -> Iterator[Triplet]:
    """The same of XQuAD."""
    rng = random.Random("xquad")  # noqa: S311  sampling, not secrets
    with gzip.open(need(data / "xquad/xquad.en.json.gz"), "rt", encoding="utf-8") as file:
        articles = json.load(file)["data"]
    for paragraph in (paragraph for article in articles for paragraph in article["paragraphs"]):
        for qa in paragraph["qas"]:
            answer = qa["answers"][0]
            begun = answer["answer_start"] + 2  # far enough to see that a sentence begins with the answer
            number = len(sentences(paragraph["context"][:begun])) - 1
            others = sentences(paragraph["context"])
            positive = others.pop(number)
            yield from _question(qa["question"], positive, (s for s in others if answer["text"] not in s), rng)


def _question(question: str, answer: str, others: Iterable[str], rng: random.Random) -> Iterator[Triplet]:
    """One triplet, unless the paragraph has no other sentence."""
    negatives = [text for text in others if text.strip()]
    if negatives:
        yield Triplet(question, answer, rng.choice(negatives))


def _duplicates(data: Path) -> Iterator[Triplet]:
    """A question, a passage of three of which one asks the same, and one of three of which one is near by its words."""
    # Imported here, because only this kind needs it.
    from research.evaluation.bm25 import Bm25

    rng = random.Random("duplicates")  # noqa: S311  sampling, not secrets
    rows = [line.rstrip("\n").split("\t") for line in lines(data / "qqp/dev.tsv.gz")]
    questions = list(dict.fromkeys(text for _, *pair, _ in rows for text in pair))
    index = Bm25(questions)

    def among_others(question: str) -> str:
        return " ".join([rng.choice(questions), question, rng.choice(questions)])

    for query, positive in (pair for same, *pair, _ in rows if same == "1"):
        near = [questions[row] for row in index.best(query, 3) if questions[row] not in (query, positive)]
        if near:
            yield Triplet(query, among_others(positive), among_others(near[0]))


def _stsb(data: Path) -> Iterator[GradedPair]:
    return iter(read_graded_pairs(data))


def _forums(data: Path) -> Iterator[GradedPair]:
    return iter(read_forum_pairs(data))


def _labelled(data: Path) -> Iterator[GradedPair]:
    grades = {"entailment": 1.0, "neutral": 0.5, "contradiction": 0.0}
    for caption, labelled in _captions(data).items():
        for label, texts in labelled.items():
            if label in grades:
                yield from (GradedPair(caption, text, grades[label]) for text in texts)


def _mined(data: Path) -> Iterator[GradedPair]:
    # Imported here, because torch takes seconds that the other kinds should not wait for.
    from research.training.pseudo_labels import mined_pairs

    return mined_pairs(data)


def _neighbouring(data: Path) -> Iterator[GradedPair]:
    from research.training.pseudo_labels import neighbouring_pairs

    return neighbouring_pairs(data)


def _plain(data: Path) -> Iterator[GradedPair]:
    from research.training.pseudo_labels import plain_pairs

    return plain_pairs(data)


class Distractors:
    """Texts that share a word with a query, and do not mean the same."""

    def __init__(self, texts: Sequence[str], seed: str) -> None:
        self._by_word = index_by_word({"": list(texts)})
        self._rng = random.Random(seed)  # noqa: S311  sampling, not secrets

    def triplets(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Triplet]:
        """Triplets of queries and positives; of those alone for which there is a distractor."""
        for query, positive in pairs:
            words = words_of(query)
            near = [text for word in sorted(words) for text in self._by_word.get(word, ()) if text != positive]
            apart = [text for text in near if len(words & words_of(text)) <= _MOST_SHARED * len(words)]
            if apart:
                yield Triplet(query, positive, self._rng.choice(apart))


# QED and XQuAD are evaluation sets of this project: whoever trains on them may not report them.
TRIPLETS = {
    "entailments": Kind("a caption, what follows from it, what contradicts it (SNLI)", "CC BY-SA 4.0", _entailments),
    "paraphrases": Kind("two sentences graded 4 or 5, another (STS-B, training split)", "CC BY-SA 4.0", _paraphrases),
    "splits": Kind("a sentence, a longer one that says it, another (WikiSplit)", "CC BY-SA 4.0", _splits),
    "qed": Kind("a question, the sentence that answers it, another (QED)", "CC BY-SA 3.0", _qed, by_default=False),
    "xquad": Kind(
        "a question, the sentence that answers it, another (XQuAD)", "CC BY-SA 4.0", _xquad, by_default=False
    ),
    "duplicates": Kind(
        "a question, three of which one asks the same, three others (QQP)",
        "Quora's terms: not commercial, not for weights that ship",
        _duplicates,
        by_default=False,
    ),
}
PAIRS = {
    "stsb": Kind("sentences graded by people (STS-B, training split)", "CC BY-SA 4.0", _stsb),
    "forums": Kind("those of them that are of forums, which are few", "CC BY-SA 4.0", _forums, by_default=False),
    "entailments": Kind(
        "a caption and a sentence: 1 if it follows, 0.5 if it may be so, 0 if not (SNLI)",
        "CC BY-SA 4.0",
        _labelled,
        by_default=False,
    ),
    "mined": Kind(
        "short texts near one another, graded by the frozen backbone",
        "CC BY-SA 4.0 and freer",
        _mined,
        by_default=False,
    ),
    "neighbours": Kind(
        "sentences of STS-B near one another that no one graded, graded by the frozen backbone",
        "CC BY-SA 4.0",
        _neighbouring,
        by_default=False,
    ),
    "plain": Kind(
        "sentences of common words alone, near one another, graded by the frozen backbone",
        "CC BY-SA 4.0 and freer",
        _plain,
        by_default=False,
    ),
}
