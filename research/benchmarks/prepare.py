"""Makes the cases that engines are measured on, one for every wanted size, from one collection."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.cli.console import checked_store
from app.encoders.encoders import Encoders
from app.settings import Settings
from indexer.engine.snapshot import Snapshot
from indexer.indexing.pipeline import IndexJob
from indexer.segments.reader import Segment
from indexer.sources import Source
from indexer.types import Recipe
from research.benchmarks import passages
from research.benchmarks.case import TOP_K, Case, CaseInfo, read_info, write_info
from research.benchmarks.corpus import Split, copy, first_documents, stored_vectors
from research.benchmarks.exact import exact_spans
from research.benchmarks.phrases import EncodedPhrases, encode_phrases, sample_phrases
from research.evaluation.searching import scratch_store

_COLLECTION = "bench"


@dataclass(frozen=True, slots=True)
class Plan:
    """Cases to make: of these sizes, with so many queries, all drawn with one seed."""

    source: str
    units: tuple[int, ...]
    queries: int = 500
    seed: int = 1
    segment_units: int | None = None


@contextmanager
def opened(source: str, settings: Settings, encoders: Encoders) -> Iterator[Snapshot]:
    """The snapshot of a collection; a path is indexed into a store that is thrown away."""
    if Path(source).exists():
        encoder = encoders.load(settings.encoder)
        with scratch_store() as store:
            recipe = Recipe(settings.encoder, encoder.fingerprint, encoder.dim)
            IndexJob(store, encoder, store.catalog.create_collection(_COLLECTION, recipe)).run(Source(Path(source)))
            yield store.snapshot(_COLLECTION)
    else:
        with checked_store(settings) as store:
            yield store.snapshot(source)


def make_cases(plan: Plan, settings: Settings, work: Path) -> Iterator[Case]:
    """The cases, smallest first. Those that lie in ``work`` already are used again."""
    encoders = Encoders(settings.encoder_options)
    with opened(plan.source, settings, encoders) as snapshot:
        sizes = sorted(set(plan.units))
        # From outside the largest corpus, so that every size is asked the same.
        phrases: EncodedPhrases | None = None
        for units in sizes:
            folder, made_of = work / f"case-{units}", _made_of(plan, snapshot, units, max(sizes))
            if not _is_there(folder, made_of):
                phrases = phrases or _phrases(plan, snapshot, encoders, max(sizes))
                shutil.rmtree(folder, ignore_errors=True)
                _make(folder, first_documents(snapshot, units), snapshot.recipe, plan.segment_units, phrases, made_of)
            yield Case(folder)


def _made_of(plan: Plan, snapshot: Snapshot, units: int, largest: int) -> dict[str, str | int]:
    return {
        "source": plan.source,
        "segments": ",".join(view.segment.folder.name for view in snapshot.views),
        "generation": snapshot.generation.number,
        "fingerprint": snapshot.recipe.fingerprint,
        "units": units,
        "queries_beyond": largest,
        "queries": plan.queries,
        "seed": plan.seed,
        "segment_units": plan.segment_units or 0,
    }


def _is_there(folder: Path, made_of: dict[str, str | int]) -> bool:
    return (folder / "case.json").exists() and read_info(folder).made_of == made_of


def _phrases(plan: Plan, snapshot: Snapshot, encoders: Encoders, largest: int) -> EncodedPhrases:
    split = first_documents(snapshot, largest)
    phrases = sample_phrases(split.rest, split.indexed, plan.queries, plan.seed)
    return encode_phrases(encoders.matching(snapshot.recipe), phrases)


def _make(
    folder: Path,
    split: Split,
    recipe: Recipe,
    segment_units: int | None,
    phrases: EncodedPhrases,
    made_of: dict[str, str | int],
) -> None:
    folder.mkdir(parents=True)
    segments = copy(split.indexed, recipe, folder, segment_units)
    _save_bounds(folder, segments)
    _save_queries(folder, phrases)
    units = sum(segment.manifest.units for segment in segments)
    bounds = recipe.bounds
    info = CaseInfo(made_of, units, recipe.dim, bounds.shortest, bounds.longest, stored_vectors(segments))
    # Opening a case needs its description; being taken for whole needs the right one.
    write_info(folder, CaseInfo({}, units, recipe.dim, bounds.shortest, bounds.longest, info.vectors))
    spans, cosines = exact_spans(Case(folder), phrases.queries.vectors, TOP_K)
    np.save(folder / "exact_spans.npy", spans)
    np.save(folder / "exact_cosines.npy", cosines)
    write_info(folder, info)


def _save_bounds(folder: Path, segments: Sequence[Segment]) -> None:
    part_units = _joined([segment.part_units for segment in segments])
    np.save(folder / "part_units.npy", part_units)
    np.save(folder / "document_units.npy", _joined([segment.document_units for segment in segments]))
    np.save(folder / "passage_units.npy", passages.cut(part_units))


def _joined(bounds: Sequence[np.ndarray]) -> np.ndarray:
    """The bounds of several segments as those of one long one."""
    firsts = np.cumsum([0, *(each[-1] for each in bounds)])
    shifted = [each[:-1] + first for each, first in zip(bounds, firsts, strict=False)]
    return np.concatenate([*shifted, firsts[-1:]]).astype(np.int64)


def _save_queries(folder: Path, phrases: EncodedPhrases) -> None:
    queries = phrases.queries
    (folder / "query_texts.json").write_text(json.dumps(list(queries.texts)), "utf-8")
    np.save(folder / "query_vectors.npy", queries.vectors)
    np.save(folder / "query_tokens.npy", np.concatenate(queries.tokens))
    np.save(folder / "query_bounds.npy", phrases.bounds)
