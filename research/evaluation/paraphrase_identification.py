"""Paraphrase identification, the Nugget paper's section 6.1: which of 20 documents says the same as another?

Two documents are as alike as the mean, over the vectors of the one that asks, of the largest cosine with a vector of
the other (MaxSim, eq. 10). The figure is the mean reciprocal rank of the right document, times 100. Of candidates that
score the same the wrong ones rank first, so that neither the order of candidates nor a constant score can help.

Three baselines come from the untrained encoder: means of as many equal chunks as there are nuggets, all token vectors,
and one vector a document. Beside nuggets that are whitened by the texts, chunks whitened in the same way are a fourth.
"""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Float32, Int32

from models.encoders.base import Encoder
from models.encoders.nuggets.base import NuggetEncoder, check_ratio
from models.errors import InvalidInput
from models.ops.batching import even_windows, length_batches
from models.ops.nuggets import count
from models.ops.similarity import normalize
from research.evaluation.equal_chunks import chunk_means
from research.evaluation.significance import LEVEL, resample
from research.evaluation.texts import token_vectors

Split: TypeAlias = Literal["train", "dev", "test"]
# The vectors of documents, by number.
DocumentVectors: TypeAlias = list[Float32[np.ndarray, "_vectors dim"]]
# The token vectors of a window to the vectors that stand for it.
Pool: TypeAlias = Callable[[Float32[np.ndarray, "_tokens dim"]], Float32[np.ndarray, "_vectors dim"]]

_RESAMPLES = 10_000
_FORM = (
    'The folder holds docs.txt (id, tab, text) and task.jsonl ({"source": id, "candidates": [ids], "answer": index}).'
)


@dataclass(frozen=True, slots=True)
class Task:
    """A document, the documents one of which says the same, and which of these does; all by number."""

    source: int
    candidates: tuple[int, ...]
    answer: int


@dataclass(frozen=True, slots=True)
class Tasks:
    """The documents' texts and what is asked of them."""

    texts: list[str]
    tasks: list[Task]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Reciprocal ranks of the right documents, task by task, and how many vectors a document has on average."""

    reciprocal: Float[np.ndarray, " tasks"]
    vectors: float

    @property
    def mrr(self) -> float:
        """The mean reciprocal rank, times 100."""
        return round(float(self.reciprocal.mean()) * 100, 4)


@dataclass(frozen=True, slots=True)
class Report:
    """Nuggets at one ratio, and the baselines by name."""

    ratio: float
    nuggets: Ranking
    baselines: Mapping[str, Ranking]

    def as_json(self) -> dict[str, Any]:
        """The figures alone."""
        return {
            "tasks": len(self.nuggets.reciprocal),
            "ratio": self.ratio,
            "mrr": self.nuggets.mrr,
            "vectors_per_document": round(self.nuggets.vectors, 4),
            "baselines": {name: ranking.mrr for name, ranking in self.baselines.items()},
        }

    def gains(self) -> dict[str, dict[str, float]]:
        """By how much nuggets exceed every baseline, and the one-sided 95 % lower bound (paired bootstrap)."""
        return {name: _gain(self.nuggets.reciprocal, ranking.reciprocal) for name, ranking in self.baselines.items()}


def read_tasks(data: Path, split: Split) -> Tasks:
    """Read a split of the task in the form in which the paper's authors publish it.

    ``data`` is their repository, the task's folder in it, or the split's. Raises ``InvalidInput`` for another form.
    """
    folder = _folder(data, split)
    lines = (line.partition("\t") for line in _lines(folder / "docs.txt"))
    texts = {name: text for name, _, text in lines}
    numbers = {name: number for number, name in enumerate(texts)}
    tasks = [_task(line, numbers) for line in _lines(folder / "task.jsonl")]
    if not tasks:
        raise InvalidInput(f"{folder} holds no tasks.", hint=_FORM, field="data")
    return Tasks(list(texts.values()), tasks)


def evaluate_paraphrases(
    nuggets: NuggetEncoder,
    untrained: Encoder,
    tasks: Tasks,
    ratio: float,
    whitening: Float32[np.ndarray, "dim dim"] | None = None,
) -> Report:
    """Nuggets beside the baselines, on the same windows; ``whitening`` is a matrix for the means of chunks.

    >>> from models.encoders.hashing import HashingEncoder
    >>> from models.encoders.nuggets.hashing import HashingNuggetEncoder
    >>> tasks = Tasks(["a b c", "a b d", "e f g"], [Task(0, (2, 1), 1)])
    >>> encoder = HashingEncoder()
    >>> evaluate_paraphrases(HashingNuggetEncoder(encoder), encoder, tasks, 0.5).as_json()["baselines"]
    {'chunk_mean': 100.0, 'all_tokens': 100.0, 'one_vector': 100.0}
    """
    check_ratio(ratio)
    pools: dict[str, Pool] = {
        "chunk_mean": lambda vectors: chunk_means(vectors, count(len(vectors), ratio)),
        "all_tokens": lambda vectors: vectors,
    }
    if whitening is not None:
        pools["chunk_mean_whitened"] = lambda vectors: pools["chunk_mean"](vectors) @ whitening
    ranking = rank(tasks, nugget_vectors(nuggets, tasks.texts, ratio))
    windows = list(_read_windows(untrained, tasks.texts))
    baselines = {name: rank(tasks, _gather(windows, len(tasks.texts), pool)) for name, pool in pools.items()}
    baselines["one_vector"] = rank(tasks, _one_vector(windows, len(tasks.texts)))
    return Report(ratio, ranking, baselines)


def nugget_vectors(encoder: NuggetEncoder, texts: Sequence[str], ratio: float) -> DocumentVectors:
    """The nuggets of every text, those of its windows together."""
    owners, windows = _windows(encoder.base, texts)
    lengths = [len(window) for window in windows]
    batches = list(length_batches(lengths, encoder.base.batch_tokens))
    outputs = encoder.forward(([windows[number] for number in batch] for batch in batches), ratio)
    vectors: dict[int, Float32[np.ndarray, "_vectors dim"]] = {}
    for batch, read in zip(batches, outputs, strict=True):
        vectors |= {number: nuggets.vectors for number, (_, nuggets) in zip(batch, read, strict=True)}
    return _together([(owners[number], vectors[number]) for number in sorted(vectors)], len(texts), encoder.dim)


def maxsim(query: Float32[np.ndarray, "queries dim"], document: Float32[np.ndarray, "vectors dim"]) -> float:
    """The mean over the query's vectors of the largest cosine with the document's; -1 where either has none.

    >>> maxsim(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[:1])
    0.5
    """
    if not len(query) or not len(document):
        return -1.0
    return float((query @ document.T).max(axis=1).mean())


def rank(tasks: Tasks, vectors: DocumentVectors) -> Ranking:
    """Rank the candidates of every task by their MaxSim; vectors have length 1."""
    reciprocal = [reciprocal_rank(_scores(task, vectors), task.answer) for task in tasks.tasks]
    return Ranking(np.array(reciprocal), float(np.mean([len(rows) for rows in vectors])))


def reciprocal_rank(scores: Sequence[float], answer: int) -> float:
    """One over the place of the answer; whoever scores as much is before it.

    >>> reciprocal_rank([0.5, 0.7, 0.5], 0), reciprocal_rank([0.5, 0.7, 0.5], 1)
    (0.3333333333333333, 1.0)
    """
    return 1 / sum(score >= scores[answer] for score in scores)


def _scores(task: Task, vectors: DocumentVectors) -> list[float]:
    return [maxsim(vectors[task.source], vectors[candidate]) for candidate in task.candidates]


def _windows(encoder: Encoder, texts: Sequence[str]) -> tuple[list[int], list[Int32[np.ndarray, " _tokens"]]]:
    """The windows of all texts, and the number of the text that each is of."""
    cut = [even_windows(tokens.ids, encoder.window) for tokens in encoder.tokenize(texts)]
    owners = [number for number, windows in enumerate(cut) for _ in windows]
    return owners, [window for windows in cut for window in windows]


def _read_windows(encoder: Encoder, texts: Sequence[str]) -> Iterator[tuple[int, Float32[np.ndarray, "_tokens dim"]]]:
    """The number of a text and the token vectors of a window of it, text by text."""
    owners, windows = _windows(encoder, texts)
    vectors = dict(token_vectors(encoder, windows))
    return ((owner, vectors[number]) for number, owner in enumerate(owners))


def _gather(
    windows: Sequence[tuple[int, Float32[np.ndarray, "_tokens dim"]]],
    texts: int,
    pool: Pool,
) -> DocumentVectors:
    """Pool every window's token vectors, and gather the results text by text."""
    return _together([(owner, normalize(pool(vectors))) for owner, vectors in windows], texts, windows[0][1].shape[1])


def _one_vector(windows: Sequence[tuple[int, Float32[np.ndarray, "_tokens dim"]]], texts: int) -> DocumentVectors:
    """The mean of all token vectors of a text."""
    whole = _together(windows, texts, windows[0][1].shape[1])
    return [chunk_means(vectors, min(1, len(vectors))) for vectors in whole]


def _together(rows: Sequence[tuple[int, Float32[np.ndarray, "_vectors dim"]]], texts: int, dim: int) -> DocumentVectors:
    of_texts: list[list[Float32[np.ndarray, "_vectors dim"]]] = [[] for _ in range(texts)]
    for owner, vectors in rows:
        of_texts[owner].append(vectors)
    return [np.concatenate([np.zeros((0, dim), np.float32), *of_text]) for of_text in of_texts]


def _gain(ours: Float[np.ndarray, " tasks"], theirs: Float[np.ndarray, " tasks"]) -> dict[str, float]:
    differences = 100 * (ours - theirs)
    drawn = np.concatenate([counts @ differences / len(ours) for counts in resample(len(ours), _RESAMPLES)])
    return {"difference": round(float(differences.mean()), 4), "lower": round(float(np.quantile(drawn, LEVEL)), 4)}


def _folder(data: Path, split: Split) -> Path:
    for folder in (data / "paraphrase_identification" / split, data / split, data):
        if _find(folder / "task.jsonl"):
            return folder
    raise InvalidInput(f"There is no split {split} of the task in {data}.", hint=_FORM, field="data")


def _find(path: Path) -> Path | None:
    return next((file for file in (path, path.with_name(path.name + ".gz")) if file.is_file()), None)


def _lines(path: Path) -> Iterator[str]:
    existing = _find(path)
    if not existing:
        raise InvalidInput(f"There is no {path}, nor one in gzip.", hint=_FORM, field="data")
    # A text may hold what other systems end lines with.
    open_text = gzip.open if existing.suffix == ".gz" else open
    with open_text(existing, "rt", encoding="utf-8", newline="\n") as file:
        yield from (line.rstrip("\n") for line in file)


def _task(line: str, numbers: Mapping[str, int]) -> Task:
    try:
        row = json.loads(line)
        task = Task(numbers[row["source"]], tuple(numbers[name] for name in row["candidates"]), int(row["answer"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"A line of task.jsonl is no task: {line[:80]}", hint=_FORM, field="data") from error
    if not 0 <= task.answer < len(task.candidates):
        raise InvalidInput(f"A task's answer is none of its candidates: {line[:80]}", hint=_FORM, field="data")
    return task
