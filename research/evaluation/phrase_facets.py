"""Facets on phrases: Tables 4, 5 and 9 of the paper, by SC, by Emb, by word vectors and by the backbone's cosine."""

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import average_precision_score, precision_recall_curve

from models.encoders.base import Encoder
from models.errors import InvalidInput
from models.ops.similarity import normalize
from research.evaluation.phrase_sets import PhrasePair, read_bird, read_semeval, read_turney, read_wikisrs
from research.evaluation.texts import encode_texts
from spanseek_facets.directions import FREQUENCY, diff_scores, share_scores
from spanseek_facets.forward import run_encoder
from spanseek_facets.model import FacetModel
from spanseek_facets.scores import codebook_distance
from spanseek_facets.word_vectors import WordVectors, split_words

Scores: TypeAlias = Float[np.ndarray, " pairs"]
Scorer: TypeAlias = Callable[[Sequence[str], Sequence[str]], Scores]
Figures: TypeAlias = dict[str, float]

_BLOCK = 2_000  # pairs scored at a time, to bound memory


@dataclass(frozen=True, slots=True)
class Hypernymy:
    """Two phrases, and whether the second is a hypernym of the first."""

    first: str
    second: str
    holds: bool


def evaluate_phrase_facets(
    data: Path, words: WordVectors, models: Mapping[str, FacetModel], backbone: Encoder
) -> dict[str, Figures]:
    """Figures x 100 by scorer: the mean of word vectors (``words``), the backbone's cosine, SC and Emb of models."""
    scorers: dict[str, Scorer] = {
        "words": partial(mean_cosines, words),
        "backbone": partial(backbone_cosines, backbone),
    }
    for name, model in models.items():
        scorers |= {name: partial(sc_scores, model), f"{name}, Emb": partial(emb_scores, model)}
    return {name: _phrase_figures(data, scorer) for name, scorer in scorers.items()}


def mean_cosines(words: WordVectors, first: Sequence[str], second: Sequence[str]) -> Scores:
    """The cosines of the means of the words of phrases; 0 where no word is known."""

    def mean(text: str) -> Float[np.ndarray, " dim"]:
        return words.vectors[words.text_ids(text)].sum(axis=0)

    one, other = (normalize(np.stack([mean(text) for text in texts])) for texts in (first, second))
    return np.einsum("pd,pd->p", one, other)


def sc_scores(model: FacetModel, first: Sequence[str], second: Sequence[str]) -> Scores:
    """Negative SC of phrases."""
    parts = [
        -codebook_distance(model.encode(first[begin : begin + _BLOCK]), model.encode(second[begin : begin + _BLOCK]))
        for begin in range(0, len(first), _BLOCK)
    ]
    return np.concatenate(parts)


def emb_scores(model: FacetModel, first: Sequence[str], second: Sequence[str]) -> Scores:
    """The paper's Emb: the cosine of the mean states that the encoder has of the words of phrases."""
    one, other = (normalize(_mean_states(model, texts)) for texts in (first, second))
    return np.einsum("pd,pd->p", one, other)


def _mean_states(model: FacetModel, texts: Sequence[str]) -> Float[np.ndarray, "texts dim"]:
    means = []
    for begin in range(0, len(texts), _BLOCK):
        vectors = model.reader.vectors(model.reader.ids(texts[begin : begin + _BLOCK]))
        states, real = run_encoder(model.parameters, model.shape, *vectors)
        words = real[:, 1:, None]
        means.append((states[:, 1:] * words).sum(axis=1) / words.sum(axis=1).clip(1))
    return np.concatenate(means)


def backbone_cosines(backbone: Encoder, first: Sequence[str], second: Sequence[str]) -> Scores:
    """The cosines of phrases, each read alone by the encoder that facets read by."""
    return np.einsum("pd,pd->p", encode_texts(backbone, first), encode_texts(backbone, second))


def evaluate_hypernyms(path: Path, model: FacetModel) -> Figures:
    """HypeNET: how often the direction tells which of two phrases is the hypernym, and how well it finds hypernyms.

    ``diff`` is the accuracy of Diff alone (eq. 8), ``frequency`` that of how frequent words are, ``accuracy`` of both.
    ``auc`` is the average precision of hypernym pairs among all pairs, by both; a tie is a wrong direction.
    ``known`` is how many hypernym pairs have no word outside the vocabulary, ``known_accuracy`` that of these alone.
    """
    rows = read_hypernyms(path)
    general, special = [row.second for row in rows], [row.first for row in rows]
    by_facets, by_shares = diff_scores(model, general, special), share_scores(model, general, special)
    scores = by_facets + FREQUENCY * by_shares
    holds = np.array([row.holds for row in rows])
    places = model.words.places
    known = holds & np.array([all(word in places for word in split_words(f"{row.first} {row.second}")) for row in rows])
    return {
        "pairs": len(rows),
        "hypernyms": int(holds.sum()),
        "accuracy": _percent(float((scores[holds] > 0).mean())),
        "diff": _percent(float((by_facets[holds] > 0).mean())),
        "frequency": _percent(float((by_shares[holds] > 0).mean())),
        "known": int(known.sum()),
        "known_accuracy": _percent(float((scores[known] > 0).mean())) if known.any() else 0.0,
        "auc": _percent(float(average_precision_score(holds, scores))),
    }


def read_hypernyms(path: Path) -> list[Hypernymy]:
    """A split of HypeNET: two phrases and True or False, with tabs. Raises ``InvalidInput`` for other lines."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    for number, row in enumerate(rows, 1):
        if len(row) != 3 or row[2] not in ("True", "False"):
            raise InvalidInput(
                f"Line {number} of {path.name} is no row of HypeNET.",
                hint="A line has two phrases and True or False, with tabs between.",
                field="data",
            )
    return [Hypernymy(first, second, holds == "True") for first, second, holds in rows]


def _phrase_figures(data: Path, scorer: Scorer) -> Figures:
    figures: Figures = {}
    for name, (file, read, correlate) in _GRADED.items():
        pairs = read(data / file)
        scores = scorer([pair.first for pair in pairs], [pair.second for pair in pairs])
        grades = np.array([pair.grade for pair in pairs])
        figures[name] = _percent(float(correlate(scores, grades).statistic))
    return figures | _semeval(data / _SEMEVAL, scorer) | _turney(data / _TURNEY, scorer)


def _semeval(path: Path, scorer: Scorer) -> Figures:
    """The area under the precision-recall curve, and the best F1 of any threshold, as the paper has them."""
    pairs = read_semeval(path)
    scores = scorer([pair.first for pair in pairs], [pair.second for pair in pairs])
    same: Bool[np.ndarray, " pairs"] = np.array([pair.grade == 1 for pair in pairs])
    precision, recall, _ = precision_recall_curve(same, scores)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    return {
        "semeval2013_auc": _percent(float(average_precision_score(same, scores))),
        "semeval2013_f1": _percent(float(f1.max())),
    }


def _turney(path: Path, scorer: Scorer) -> Figures:
    """Percentage of answers that beat four others, and also all five with the words of the phrase in reverse order."""
    choices = read_turney(path)
    candidates = [[choice.answer, *choice.others] for choice in choices]
    texts = [text for row in candidates for text in row]
    phrases = [choice.phrase for choice in choices for _ in range(5)]
    reverse = [" ".join(reversed(phrase.split())) for phrase in phrases]
    here = scorer(phrases, texts).reshape(-1, 5)
    ten = np.concatenate([here, scorer(reverse, texts).reshape(-1, 5)], axis=1)
    return {f"turney{count}": _percent(float((ten[:, 0] > ten[:, 1:count].max(axis=1)).mean())) for count in (5, 10)}


def _percent(share: float) -> float:
    return round(100 * share, 2)


_SEMEVAL, _TURNEY = "fct-phrasesim/SemEval2013/en.testSet", "fct-phrasesim/Turney2012/jair.data"
_GRADED: Mapping[str, tuple[str, Callable[[Path], list[PhrasePair]], Callable[..., Any]]] = {
    "bird": ("bird/BiRD.txt.gz", read_bird, pearsonr),
    "wikisrs_similarity": ("wikisrs/WikiSRS_similarity.csv", read_wikisrs, spearmanr),
    "wikisrs_relatedness": ("wikisrs/WikiSRS_relatedness.csv", read_wikisrs, spearmanr),
}
