"""Add, replace, delete, merge, purge, reopen, crash in between: the index says what a dictionary says."""

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import indexer.catalog.publish
import indexer.indexing.maintenance
import indexer.indexing.matching
import indexer.segments.local
import indexer.segments.merge
import indexer.segments.writer
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.engine.snapshot import Snapshot
from indexer.indexing.maintenance import merge_segments, optimize, purge, tidy
from indexer.indexing.merge_policy import due, everything, with_dead
from indexer.words.occurrences import occurrences
from models.encoders.hashing import HashingEncoder
from models.encoders.registry import load_nuggets
from models.ops.quantization import quantize
from models.types import Document, Part, SpanBounds, UnitSpan
from tests import reference
from tests.examples import examples
from tests.reference import RefDocument, RefPart
from tests.workspace import Workspace

BOUNDS = SpanBounds(1, 3)
ENCODER = HashingEncoder(dim=8)
RATIO = 0.4
WORDS = ["parcel", "late", "cancel", "my", "plan", "😀"]

texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
metadata = st.dictionaries(st.sampled_from(["kind", "n"]), st.integers(0, 2), max_size=2)
parts = st.lists(st.builds(Part, texts, metadata), max_size=2).map(tuple)
ids = st.sampled_from("abcdefgh")
contents = st.dictionaries(ids, st.tuples(parts, metadata), min_size=1, max_size=4)

# What may be the last thing that a process does: before the call, or when it is done.
MOMENTS: list[tuple[Any, str]] = [
    (indexer.segments.writer, "seal"),
    (indexer.segments.local, "settle"),
    (indexer.indexing.matching, "publish"),
    (indexer.segments.merge, "write_norms"),
    (indexer.indexing.maintenance, "publish"),
    (indexer.indexing.maintenance, "retire"),
    (indexer.indexing.maintenance, "forget_old"),
    (indexer.segments.local.LocalSegments, "remove"),
    (indexer.catalog.publish, "_bury"),
    (indexer.catalog.publish, "retire_segments"),
    (indexer.catalog.publish, "_set_generation"),
]
moments = st.tuples(st.sampled_from(MOMENTS), st.integers(0, 2), st.booleans())


class Crash(Exception):
    """What no code under test expects."""


class LivingIndex(RuleBasedStateMachine):
    """A collection in a folder, and beside it the documents that it should hold."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(mkdtemp(prefix="spanseek-"))
        self.workspace = Workspace(self.folder, ENCODER, nugget_ratio=RATIO, words=True)
        self.workspace.index([], bounds=BOUNDS)
        self.model: dict[str, Document] = {}
        self.held: list[tuple[Snapshot, Mapping[str, Document]]] = []

    def teardown(self) -> None:
        if hasattr(self, "workspace"):
            self.workspace.catalog.close()
            shutil.rmtree(self.folder)

    @rule(contents=contents, segment_units=st.sampled_from([1, 500_000]))
    def add_or_replace(self, contents: Any, segment_units: int) -> None:
        documents = _documents(contents)
        self.workspace.index(documents.values(), bounds=BOUNDS, segment_units=segment_units)
        self.model |= documents
        assert self.workspace.folders() == self.workspace.live()

    @rule(ids=st.lists(ids, max_size=4))
    def delete(self, ids: list[str]) -> None:
        with lease(self.workspace.catalog, "c") as held:
            gone, _ = remove(self.workspace.catalog, held, ids)
        assert gone == set(ids) & set(self.model)
        self._forget(ids)

    @rule(choice=st.sampled_from([due, everything, with_dead]))
    def merge(self, choice: Any) -> None:
        with lease(self.workspace.catalog, "c") as held:
            merge_segments(self.workspace.store, held, choice)
        assert choice(self.workspace.catalog.live_generation("c").segments) == []

    @rule()
    def take_the_dead_off_the_disk(self) -> None:
        with lease(self.workspace.catalog, "c") as held:
            purge(self.workspace.store, held)
        assert self.workspace.folders() == self.workspace.live()
        for view in self.workspace.store.snapshot("c").views:
            segment = view.segment
            living = [self.model[segment.document_id(number)].text for number in range(segment.manifest.documents)]
            assert segment.long_text(0, segment.manifest.code_points) == "".join(living)

    @rule()
    def reopen(self) -> None:
        self.workspace.catalog.close()
        self.workspace = Workspace(self.folder, ENCODER, nugget_ratio=RATIO, words=True)

    @rule()
    def hold_a_snapshot(self) -> None:
        self.held.append((self.workspace.store.snapshot("c"), dict(self.model)))

    @rule(contents=contents, moment=moments)
    def crash_while_writing(self, contents: Any, moment: Any) -> None:
        """Several segments: some may be published, so that each document is the old one or the new one."""
        documents = _documents(contents)
        with _crashing(*moment):
            self.workspace.index(documents.values(), bounds=BOUNDS, segment_units=1)
        found = _live(self.workspace.store.snapshot("c"))
        for id, document in documents.items():
            assert found.get(id) in (document, self.model.get(id))
        self.model = {id: found[id] for id in self.model | documents if id in found}

    @rule(ids=st.lists(ids, max_size=4), moment=moments)
    def crash_while_deleting(self, ids: list[str], moment: Any) -> None:
        with _crashing(*moment), lease(self.workspace.catalog, "c") as held:
            remove(self.workspace.catalog, held, ids)
        if _live(self.workspace.store.snapshot("c")) != self.model:
            self._forget(ids)

    @rule(upkeep=st.sampled_from([tidy, optimize, purge]), moment=moments)
    def crash_while_tidying(self, upkeep: Any, moment: Any) -> None:
        with _crashing(*moment), lease(self.workspace.catalog, "c") as held:
            upkeep(self.workspace.store, held)

    @invariant()
    def it_holds_what_the_dictionary_holds(self) -> None:
        assert _live(self.workspace.store.snapshot("c")) == self.model
        assert self.workspace.catalog.collection("c").documents == len(self.model)
        assert self.workspace.catalog.content_hashes("c", "abcdefgh").keys() == self.model.keys()

    @invariant()
    def searches_find_what_the_oracle_finds(self) -> None:
        hits = self.workspace.search("cancel my plan", top_k=1000, group_by="document")
        found = {hit.document_id: 2 * hit.raw - 1 for hit in hits}
        assert found == pytest.approx(_oracle("cancel my plan", self.model), abs=1e-5)
        for hit in hits:
            assert hit.text == self.model[hit.document_id].text[hit.start : hit.end]

    @invariant()
    def documents_are_found_by_their_nuggets(self) -> None:
        hits = self.workspace.search("cancel my plan", mode="maxsim", top_k=1000)
        found = {hit.document_id: 2 * hit.raw - 1 for hit in hits}
        assert found == pytest.approx(_maxsim_oracle("cancel my plan", self.model), abs=1e-5)

    @invariant()
    def words_stand_where_the_texts_have_them(self) -> None:
        found: dict[str, list[tuple[int, int]]] = {id: [] for id in self.model}
        for view in self.workspace.store.snapshot("c").views:
            segment = view.segment
            starts, ends = occurrences(view.segment, ("cancel", "my"))
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                document = int(segment.part_document[segment.part_of(start)])
                if view.live_documents[document]:
                    span = segment.char_span(UnitSpan(start, end))
                    found[segment.document_id(document)].append((span.start, span.end))
        for id, document in self.model.items():
            assert found[id] == [match.span() for match in re.finditer(r"cancel my", document.text)]

    @invariant()
    def readers_keep_their_snapshot(self) -> None:
        for snapshot, documents in self.held:
            assert _live(snapshot) == documents

    def _forget(self, ids: list[str]) -> None:
        for id in ids:
            self.model.pop(id, None)


def _documents(contents: Mapping[str, Any]) -> dict[str, Document]:
    return {id: Document(id, parts, metadata) for id, (parts, metadata) in contents.items()}


class _crashing:  # noqa: N801
    """Dies at the given call of a function, before or after its work; where it is never called, nothing happens."""

    def __init__(self, place: tuple[Any, str], after: int, done: bool) -> None:
        (self.owner, self.name), self.after, self.done = place, after, done
        self.real: Callable[..., Any] = getattr(self.owner, self.name)

    def __enter__(self) -> None:
        # A function, so that a method of a class gets its object.
        setattr(self.owner, self.name, lambda *arguments, **options: self._call(*arguments, **options))

    def _call(self, *arguments: Any, **options: Any) -> Any:
        self.after -= 1
        if self.after >= 0:
            return self.real(*arguments, **options)
        if self.done:
            self.real(*arguments, **options)
        raise Crash

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        setattr(self.owner, self.name, self.real)
        return kind is Crash


def _live(snapshot: Snapshot) -> dict[str, Document]:
    """All live documents of a snapshot, read from the files."""
    found: dict[str, Document] = {}
    for view in snapshot.views:
        segment = view.segment
        for number in np.flatnonzero(view.live_documents).tolist():
            id = segment.document_id(number)
            assert id not in found
            rows = range(segment.document_parts[number], segment.document_parts[number + 1])
            parts = tuple(
                Part(segment.text(number, segment.part_span(row)), segment.part_metadata(row)) for row in rows
            )
            found[id] = Document(id, parts, segment.document_metadata(number))
    return found


def _oracle(query: str, documents: Mapping[str, Document]) -> dict[str, float]:
    """The best cosine of every document, from nothing but its text."""
    hits = reference.hits(
        [RefDocument(id, [_stored(part.text) for part in document.parts]) for id, document in documents.items()],
        _vectors(query).mean(axis=0),
        (BOUNDS.shortest, BOUNDS.longest),
        top_k=1000,
        group_by="document",
    )
    lengths = float(np.linalg.norm(_vectors(query).mean(axis=0)))
    return {hit.document_id: hit.cosine / lengths for hit in hits}


def _maxsim_oracle(query: str, documents: Mapping[str, Document]) -> dict[str, float]:
    """MaxSim of every document that has a nugget, from nothing but its text."""
    found = {}
    for id, document in documents.items():
        vectors = np.concatenate([_nuggets(part.text) for part in document.parts] or [_nuggets("")])
        if len(vectors):
            codes, _ = quantize(vectors)
            found[id] = reference.maxsim(_nuggets(query), codes)[0]
    return found


def _nuggets(text: str) -> np.ndarray:
    (tokens,) = ENCODER.tokenize([text])
    (((_, nuggets),),) = load_nuggets("hashing", base=ENCODER).forward([[tokens.ids]], RATIO)
    return nuggets.vectors


def _stored(text: str) -> RefPart:
    codes, scales = quantize(_vectors(text))
    (tokens,) = ENCODER.tokenize([text])
    characters = [(int(start), int(end)) for start, end in tokens.spans]
    return RefPart(codes.astype(np.float64) * scales.astype(np.float64)[:, None], characters)


def _vectors(text: str) -> np.ndarray:
    (tokens,) = ENCODER.tokenize([text])
    ((vectors,),) = ENCODER.forward([[tokens.ids]])
    return vectors


TestLivingIndex = LivingIndex.TestCase
# Not shrunk: that would take minutes, and the steps are readable as they are.
TestLivingIndex.settings = settings(max_examples=examples(12), stateful_step_count=15, phases=[Phase.generate])
