"""Phrase similarity: how well does the cosine of two phrases follow what people said of them?

Every set has its usual metric. Where a threshold is needed, it is the one with the best accuracy on rows that are not
those it is tested on: SemEval-2013 has a training part; PiC is cut in two by phrase, and each half gets the threshold
of the other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import TypeAlias
from zlib import crc32

import numpy as np
from jaxtyping import Bool, Float

from models.encoders.base import Encoder, tokenize_units
from models.errors import InvalidInput
from models.ops.similarity import normalize
from models.types import QueryVectors
from research.evaluation.phrase_sets import (
    InText,
    PairInText,
    PhrasePair,
    read_bird,
    read_patents,
    read_pic,
    read_semeval,
    read_turney,
    read_wikisrs,
)
from research.evaluation.sample import auc
from research.evaluation.setups import unit_vectors
from research.evaluation.significance import correlations
from research.evaluation.texts import encode_texts

Figures: TypeAlias = dict[str, float]
Scores: TypeAlias = Float[np.ndarray, " pairs"]
Labels: TypeAlias = Bool[np.ndarray, " pairs"]


@dataclass(frozen=True, slots=True)
class PhraseSet:
    """A set's files below a data folder, its usual metric, and all metrics of an encoder on its rows."""

    files: tuple[str, ...]
    metric: str
    measure: Callable[..., tuple[int, Figures]]


@dataclass(frozen=True, slots=True)
class SetFigures:
    """A set's rows and usual metric, and all metrics of an encoder and of the untrained one on it."""

    rows: int
    metric: str
    encoder: Figures
    untrained: Figures


def evaluate_phrases(encoder: Encoder, untrained: Encoder, data: Path) -> dict[str, SetFigures]:
    """Figures of every set that a data folder holds, by its name."""
    forms = {name: form for name, form in SETS.items() if all((data / file).is_file() for file in form.files)}
    if not forms:
        raise InvalidInput(
            f"{data} holds none of the sets of phrase similarity.",
            hint=f"Give the folder that holds one of: {', '.join(form.files[0] for form in SETS.values())}.",
            field="data",
        )
    return {name: _figures(form, encoder, untrained, data) for name, form in forms.items()}


def averages(figures: Mapping[str, SetFigures]) -> Figures:
    """The mean over the sets, each by its usual metric, of the encoder and of the untrained one.

    >>> averages({"a": SetFigures(1, "auc", {"auc": 0.5}, {"auc": 0.0}), "b": SetFigures(1, "r", {"r": 1}, {"r": 1})})
    {'encoder': 0.75, 'untrained': 0.5}
    """
    return {
        "encoder": round(fmean(row.encoder[row.metric] for row in figures.values()), 6),
        "untrained": round(fmean(row.untrained[row.metric] for row in figures.values()), 6),
    }


def _figures(form: PhraseSet, encoder: Encoder, untrained: Encoder, data: Path) -> SetFigures:
    paths = [data / file for file in form.files]
    rows, figures = form.measure(encoder, *paths)
    beside = figures if encoder is untrained else form.measure(untrained, *paths)[1]
    return SetFigures(rows, form.metric, figures, beside)


def _graded(read: Callable[[Path], list[PhrasePair]], encoder: Encoder, path: Path) -> tuple[int, Figures]:
    """Correlations of cosines with grades."""
    pairs = read(path)
    return len(pairs), asdict(correlations(cosines(encoder, pairs), np.array([pair.grade for pair in pairs])))


def _semeval(encoder: Encoder, test: Path, training: Path) -> tuple[int, Figures]:
    """Accuracy on the test part, with the best threshold of the training part."""
    training_rows, test_rows = read_semeval(training), read_semeval(test)
    threshold = best_threshold(cosines(encoder, training_rows), _same(training_rows))
    scores, same = cosines(encoder, test_rows), _same(test_rows)
    return len(test_rows), {
        "accuracy": _share((scores > threshold) == same),
        "auc": round(auc(scores[same], scores[~same]), 6),
    }


def _turney(encoder: Encoder, path: Path) -> tuple[int, Figures]:
    """Share of answers that are the nearest of five, as Phrase-BERT and PEARL ask; and of seven, as Turney does.

    The two more are the phrase's own words. A tie is no answer.
    """
    choices = read_turney(path)
    phrases = encode_texts(encoder, [choice.phrase for choice in choices])
    texts = [text for choice in choices for text in (choice.answer, *choice.others, *choice.own)]
    candidates = encode_texts(encoder, texts).reshape(len(choices), -1, encoder.dim)
    scores = np.einsum("rd,rcd->rc", phrases, candidates)
    five, seven = (_share(scores[:, 0] > scores[:, 1:count].max(axis=1)) for count in (5, 7))
    return len(choices), {"accuracy": five, "accuracy_of_seven": seven}


def _pic(score: Callable[[Encoder, Sequence[PairInText]], Scores], encoder: Encoder, path: Path) -> tuple[int, Figures]:
    """Accuracy of both halves, each with the best threshold of the other; no first phrase is in both."""
    pairs = read_pic(path)
    scores, same = score(encoder, pairs), np.array([pair.same for pair in pairs])
    half = np.array([crc32(pair.first.phrase.lower().encode()) % 2 == 1 for pair in pairs])
    right = np.zeros(len(pairs), bool)
    for part in (half, ~half):
        right[part] = (scores[part] > best_threshold(scores[~part], same[~part])) == same[part]
    return len(pairs), {"accuracy": _share(right), "auc": round(auc(scores[same], scores[~same]), 6)}


def cosines(encoder: Encoder, pairs: Sequence[PhrasePair]) -> Scores:
    """The cosine of the two phrases of every pair, each encoded alone."""
    return _cosines(
        encode_texts(encoder, [pair.first for pair in pairs]), encode_texts(encoder, [pair.second for pair in pairs])
    )


def cosines_alone(encoder: Encoder, pairs: Sequence[PairInText]) -> Scores:
    """The same of phrases that stand in texts, but encoded without these."""
    return _cosines(
        encode_texts(encoder, [pair.first.phrase for pair in pairs]),
        encode_texts(encoder, [pair.second.phrase for pair in pairs]),
    )


def cosines_in_context(encoder: Encoder, pairs: Sequence[PairInText]) -> Scores:
    """The same of phrases where they stand, each from one forward pass over its text."""
    return _cosines(
        vectors_in_context(encoder, [pair.first for pair in pairs]),
        vectors_in_context(encoder, [pair.second for pair in pairs]),
    )


def _cosines(first: QueryVectors, second: QueryVectors) -> Scores:
    return np.einsum("qd,qd->q", first, second)


def vectors_in_context(encoder: Encoder, phrases: Sequence[InText]) -> QueryVectors:
    """Unit-length sums of the unit vectors of phrases, each from one forward pass over the text it stands in.

    >>> from models.encoders.hashing import HashingEncoder
    >>> from models.types import CharSpan
    >>> encoder = HashingEncoder(dim=8)
    >>> found = vectors_in_context(encoder, [InText("the red car left", CharSpan(4, 11))])
    >>> bool(np.allclose(found, encode_texts(encoder, ["red car"])))
    True
    """
    texts = [phrase.text for phrase in phrases]
    vectors = np.zeros((len(phrases), encoder.dim), np.float32)
    read = zip(phrases, tokenize_units(encoder, texts), unit_vectors(encoder, texts), strict=True)
    for row, (phrase, joined, units) in enumerate(read):
        inside = (joined.spans[:, 0] < phrase.span.end) & (joined.spans[:, 1] > phrase.span.start)
        vectors[row] = units[inside].sum(axis=0)
    return normalize(vectors)


def best_threshold(scores: Scores, same: Labels) -> float:
    """The threshold above which most rows are the same and up to which most are not.

    >>> best_threshold(np.array([0.25, 0.5, 0.75, 1.0]), np.array([False, False, True, True]))
    0.625
    """
    levels = np.append(-np.inf, np.unique(scores))
    below = np.searchsorted(np.sort(scores[~same]), levels, side="right")
    above = same.sum() - np.searchsorted(np.sort(scores[same]), levels, side="right")
    best = int(np.argmax(below + above))
    return float(levels[best : best + 2].mean())


def _same(pairs: Sequence[PhrasePair]) -> Labels:
    return np.array([pair.grade == 1 for pair in pairs])


def _share(truths: Labels) -> float:
    return round(float(truths.mean()), 6)


_SEMEVAL = ("fct-phrasesim/SemEval2013/en.testSet", "fct-phrasesim/SemEval2013/en.trainSet")
_PIC = ("pic/PS_test_from_gpt4_pdf.dev-half.jsonl.gz",)

SETS: Mapping[str, PhraseSet] = MappingProxyType(
    {
        "bird": PhraseSet(("bird/BiRD.txt.gz",), "pearson", partial(_graded, read_bird)),
        "semeval2013": PhraseSet(_SEMEVAL, "accuracy", _semeval),
        "turney2012": PhraseSet(("fct-phrasesim/Turney2012/jair.data",), "accuracy", _turney),
        "patents": PhraseSet(("patent-phrases/train.csv.gz",), "pearson", partial(_graded, read_patents)),
        "pic_alone": PhraseSet(_PIC, "accuracy", partial(_pic, cosines_alone)),
        "pic_in_context": PhraseSet(_PIC, "accuracy", partial(_pic, cosines_in_context)),
        "wikisrs_similarity": PhraseSet(
            ("wikisrs/WikiSRS_similarity.csv",), "spearman", partial(_graded, read_wikisrs)
        ),
        "wikisrs_relatedness": PhraseSet(
            ("wikisrs/WikiSRS_relatedness.csv",), "spearman", partial(_graded, read_wikisrs)
        ),
    }
)
