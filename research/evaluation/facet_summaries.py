"""Extractive summaries by facets: sentences of an article's body that cover it best, judged by its lead.

Table 3 of the paper on articles of Wikipedia that nothing was learnt from. Every method chooses so many sentences.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from models.errors import InvalidInput
from models.ops.similarity import normalize
from research.evaluation.rouge import rouge_scores
from research.evaluation.significance import mean_gain
from research.evaluation.wikipedia import Article, is_held_out
from research.training.sources import sentences
from spanseek_facets.model import FacetModel
from spanseek_facets.scores import best_cosines, cover_cosines, frequency_weights
from spanseek_facets.word_vectors import WordVectors, split_words

_FEWEST, _MOST = 10, 60  # sentences of a body
_LEAD = range(30, 200)  # words of a lead

Vectors: TypeAlias = Float[np.ndarray, "_words dim"]


@dataclass(frozen=True, slots=True)
class Summarised:
    """The sentences of a body, and the lead that says what matters."""

    body: tuple[str, ...]
    lead: str


Choose: TypeAlias = Callable[[Summarised, int], Sequence[int]]


def summarised_articles(articles: Iterable[Article], most: int) -> list[Summarised]:
    """The first so many held-out articles with a lead and a body of usual lengths."""
    return list(islice(_summarised(articles), most))


def _summarised(articles: Iterable[Article]) -> Iterator[Summarised]:
    for article in filter(is_held_out, articles):
        lead, *others = (section.paragraphs for section in article.sections)
        body = tuple(text for part in others for paragraph in part for text in sentences(paragraph))
        text = " ".join(lead)
        if _FEWEST <= len(body) <= _MOST and len(text.split()) in _LEAD:
            yield Summarised(body, text)


def evaluate_summaries(
    articles: Sequence[Summarised], words: WordVectors, models: Mapping[str, FacetModel], count: int, seed: int
) -> dict[str, dict[str, float]]:
    """ROUGE-1 and ROUGE-2, F1 x 100, and the mean number of words, by method; ``InvalidInput`` for no articles.

    ``rouge1_behind`` is how far a method is behind the last one, and ``rouge1_behind_lower`` the one-sided 95 % lower
    bound of that, by a paired bootstrap over articles.
    """
    if not articles:
        raise InvalidInput(
            "There are no held-out articles with a lead and a body.", hint="Check --extract.", field="extract"
        )
    methods = _methods(words, models, seed).items()
    scores = {name: _scores(articles, choose, count) for name, choose in methods}
    *others, last = scores
    figures = {
        name: {score: round(float(values.mean()), 2) for score, values in row.items()} for name, row in scores.items()
    }
    for name in others:
        for score in ("rouge1", "rouge2"):
            gain = mean_gain(scores[last][score], scores[name][score])
            figures[name] |= {
                f"{score}_behind": round(gain.difference, 2),
                f"{score}_behind_lower": round(gain.lower, 2),
            }
    return figures


def _scores(articles: Sequence[Summarised], choose: Choose, count: int) -> dict[str, Float[np.ndarray, " articles"]]:
    summaries = [" ".join(article.body[place] for place in sorted(choose(article, count))) for article in articles]
    scores = rouge_scores(summaries, [article.lead for article in articles])
    return {
        "rouge1": scores["rouge1"],
        "rouge2": scores["rouge2"],
        "words": np.array([len(split_words(text)) for text in summaries], np.float64),
    }


def _methods(words: WordVectors, models: Mapping[str, FacetModel], seed: int) -> dict[str, Choose]:
    methods: dict[str, Choose] = {
        "random": lambda article, count: _random(article, count, seed),
        "lead": lambda article, count: range(min(count, len(article.body))),
        "sentence_mean": lambda article, count: by_means(article, words, count),
        "word_vectors": lambda article, count: by_words(article, words, count),
    }
    for name, model in models.items():
        methods[name] = lambda article, count, model=model: by_facets(article, model, count)  # type: ignore[misc]
    return methods


def _random(article: Summarised, count: int, seed: int) -> list[int]:
    rng = random.Random(f"summary/{seed}/{article.lead}")  # noqa: S311  sampling, not secrets
    return rng.sample(range(len(article.body)), min(count, len(article.body)))


def by_facets(article: Summarised, model: FacetModel, count: int) -> list[int]:
    """The sentences whose facets cover the body best."""
    vectors, weights = _document(article, model.words)
    return cover_cosines(best_cosines(model.encode(article.body), vectors), weights, count).tolist()


def by_means(article: Summarised, words: WordVectors, count: int) -> list[int]:
    """The same with one vector for each sentence: the mean of its words."""
    vectors, weights = _document(article, words)
    means = normalize(np.stack([words.vectors[words.text_ids(text)].sum(axis=0) for text in article.body]))
    return cover_cosines(best_cosines(means[:, None], vectors), weights, count).tolist()


def by_words(article: Summarised, words: WordVectors, count: int) -> list[int]:
    """The same with all words of a sentence; gains are divided by their number, or long sentences would win."""
    vectors, weights = _document(article, words)
    rows = [words.vectors[words.text_ids(text)] for text in article.body]
    costs = np.array([max(len(row), 1) for row in rows], np.float64)
    return cover_cosines(np.stack([_cosines(row, vectors) for row in rows]), weights, count, costs).tolist()


def _cosines(row: Vectors, vectors: Vectors) -> Float[np.ndarray, " words"]:
    return best_cosines(row[None], vectors)[0] if len(row) else np.full(len(vectors), -1.0)


def _document(article: Summarised, words: WordVectors) -> tuple[Vectors, Float[np.ndarray, " words"]]:
    """The words of the body, and their weights by frequency."""
    ids = np.concatenate([words.text_ids(text) for text in article.body])
    return words.vectors[ids], frequency_weights(words.shares[ids])
