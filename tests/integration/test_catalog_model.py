"""Whatever is published and removed, the catalog says what a dictionary says."""

import uuid
from dataclasses import dataclass, field
from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.catalog.leases import lease
from indexer.catalog.past_generations import read_past
from indexer.catalog.publish import publish, remove
from indexer.types import DocumentRow, Recipe, SegmentInfo
from tests.examples import examples

IDS = ["a", "b", "c", "A", "ä", "a'\"\\", "日本", " "]
ids = st.lists(st.sampled_from(IDS), max_size=6)
steps = st.lists(st.tuples(st.sampled_from(["publish", "remove", "replay", "merge"]), ids), max_size=8)


@dataclass
class Model:
    """Every row ever published, and where each living document lies."""

    published: list[tuple[SegmentInfo, list[DocumentRow]]] = field(default_factory=list)
    live: dict[str, tuple[str, int]] = field(default_factory=dict)
    generation: int = 0
    past: dict[int, set[tuple[str, int]]] = field(default_factory=dict)

    def remember(self):
        self.past[self.generation] = set(self.live.values())

    def publish(self, catalog, held, documents):
        name = uuid.uuid4().hex
        size = len(documents)
        rows = [DocumentRow(id, ordinal, f"{name}/{ordinal}") for ordinal, id in enumerate(documents)]
        self.published.append((SegmentInfo(name, "sha", size, size, size, size), rows))
        self.live.update((row.document_id, (name, row.ordinal)) for row in rows)
        self.generation += 1
        assert publish(catalog, held, *self.published[-1]) == self.generation

    def replay(self, catalog, held, _):
        for segment, rows in self.published:
            assert publish(catalog, held, segment, rows) == self.generation

    def merge(self, catalog, held, _):
        """All that lives moves into one segment."""
        documents, name = list(self.live), uuid.uuid4().hex
        old = [segment.info.name for segment in catalog.live_generation(held.collection).segments]
        if documents:
            rows = [DocumentRow(id, ordinal, f"{name}/{ordinal}") for ordinal, id in enumerate(documents)]
            size = len(documents)
            self.published.append((SegmentInfo(name, "sha", size, size, size, size), rows))
            self.live = {row.document_id: (name, row.ordinal) for row in rows}
            self.generation += 1
            assert publish(catalog, held, *self.published[-1], retires=old) == self.generation

    def remove(self, catalog, held, documents):
        gone = {id for id in set(documents) if self.live.pop(id, None)}
        self.generation += bool(gone)
        assert remove(catalog, held, documents)[0] == gone

    def assert_equals(self, catalog, name):
        generation = catalog.live_generation(name)
        places = places_of(generation)
        assert generation.number == self.generation
        assert places == set(self.live.values())
        assert catalog.content_hashes(name, IDS) == {id: f"{s}/{ordinal}" for id, (s, ordinal) in self.live.items()}
        assert catalog.collection(name).documents == len(self.live)
        for segment in generation.segments:
            assert segment.tombstones.tolist() == sorted(segment.tombstones.tolist())

    def assert_past(self, catalog, name):
        """What was live is so still for readers of older generations, until it is forgotten."""
        id, now = catalog.collection(name).id, catalog.clock()
        for number, places in self.past.items():
            if number != self.generation:
                past = read_past(catalog, id, number, now - timedelta(seconds=1))
                assert (past.generation.number, places_of(past.generation), past.ended_at) == (number, places, now)
                assert read_past(catalog, id, number, now) is None
        assert read_past(catalog, id, self.generation, now - timedelta(seconds=1)) is None


def places_of(generation):
    """Where the documents of a generation lie."""
    return {
        (segment.info.name, ordinal)
        for segment in generation.segments
        for ordinal in set(range(segment.info.documents)) - set(segment.tombstones.tolist())
    }


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_the_catalog_agrees_with_a_dictionary(catalog, steps):
    name, model = uuid.uuid4().hex, Model()
    catalog.create_collection(name, Recipe("hashing", "f1", 64))
    model.remember()
    with lease(catalog, name) as held:
        for step, documents in steps:
            getattr(model, step)(catalog, held, documents)
            model.assert_equals(catalog, name)
            model.assert_past(catalog, name)
            model.remember()
