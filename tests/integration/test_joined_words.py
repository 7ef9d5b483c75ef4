"""Words that a sign joins, or that invisible signs part, are found as they are read; so are compatibility forms."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from indexer.indexing.pipeline import IndexJob
from indexer.phrases import PhraseDraft
from indexer.segments.manifest import read_manifest
from models.text.units import OLDEST
from models.types import SpanBounds
from tests.workspace import Workspace, records

JOINED = {
    "stop": "Please cancel my plan.Thanks",
    "colon": "Caller:cancel my plan:now",
    "underscore": "reason_cancel my plan_now",
    "dot": "cancel my plan\u00b7now",
    "possessive": "cancel my plan's renewal",
    "typographic": "cancel my plan\u2019s renewal",
    "comma": "cancel my plan,now",
    "slash": "cancel my plan/now",
    "address": "cancel my plan@work",
    "space": "please can\u200bcel my plan",
    "hyphen": "please can\u00adcel my plan",
    "joiner": "please can\u2060cel my plan",
    "wide": "\uff43\uff41\uff4e\uff43\uff45\uff4c my plan",
    "bold": "\U0001d5f0\U0001d5ee\U0001d5fb\U0001d5f0\U0001d5f2\U0001d5f9 my plan",
    "wrapped": "please cancel\nmy plan",
}
TIMES = {
    "half": "we open at 9:30 daily",
    "hour": "we open at 9: ring twice",
    "clock": "we open at 9 daily",
    "ratio": "a ratio of 4:9 at most",
    "name": "see you at:9 or later",
}
COMPOUNDS = {
    "non": "a non-exclusive licence",
    "holder": "the exclusive licence-holder",
    "breaking": "a non\u2010exclusive licence",
    "dash": "this - exclusive licence - ends",
    "double": "so--exclusive licence--it is",
    "sole": "an exclusive licence. -5",
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("joined"), words=True) as made:
        made.index(records((JOINED | COMPOUNDS | TIMES).items()), bounds=SpanBounds(1, 8))
        yield made


def exact(workspace: Workspace, phrase: str, **options: object) -> dict[str, str]:
    hits = workspace.search(phrase, top_k=100, **options)
    return {hit.document_id: hit.text for hit in hits if hit.match == "exact"}


def test_occurrences_are_exact_whatever_joins_their_words(workspace: Workspace) -> None:
    found = exact(workspace, "cancel my plan")
    assert set(found) == set(JOINED)
    assert {found[id] for id in ("stop", "colon", "underscore", "dot", "possessive", "address")} == {"cancel my plan"}
    assert found["wrapped"] == "cancel\nmy plan"


def test_words_are_found_by_themselves(workspace: Workspace) -> None:
    hits = workspace.search("plan", mode="lexical", top_k=100)
    assert {hit.document_id for hit in hits} == set(JOINED)


def test_a_sentence_ends_where_its_space_was_forgotten(workspace: Workspace) -> None:
    hits = workspace.search("plan", mode="lexical", top_k=100)
    assert {hit.text for hit in hits if hit.document_id == "stop"} == {"Please cancel my plan."}


def test_an_occurrence_within_another_word_is_not_exact(workspace: Workspace) -> None:
    assert set(exact(workspace, "exclusive licence")) == {"dash", "double", "sole"}
    assert set(exact(workspace, "non-exclusive licence")) == {"non", "breaking"}
    assert set(exact(workspace, "exclusive licence", mode="lexical")) == {"dash", "double", "sole"}


def test_an_hour_is_not_exact_in_another_time(workspace: Workspace) -> None:
    assert set(exact(workspace, "at 9")) == {"hour", "clock", "name"}
    assert set(exact(workspace, "at 9:30")) == {"half"}
    assert set(exact(workspace, "9")) == {"hour", "clock", "name"}


def test_a_saved_phrase_is_matched_exactly_by_no_part_of_another_word(workspace: Workspace) -> None:
    drafts = [PhraseDraft(text, text, 1.0, "raw") for text in ("exclusive licence", "non-exclusive licence")]
    for draft in drafts:
        workspace.phrases.add("c", draft, backfill=True)
    found = [(event.phrase, event.document_id) for event in workspace.phrases.events("c", 100).events if event.exact]
    sole, joined = ({id for phrase, id in found if phrase == draft.text} for draft in drafts)
    assert (sole, joined) == ({"dash", "double", "sole"}, {"non", "breaking"})


def test_collections_of_before_are_read_as_before(tmp_path: Path) -> None:
    with Workspace(tmp_path, words=True) as workspace:
        recipe = replace(workspace.collection("new").recipe, text=OLDEST)
        workspace.catalog.create_collection("c", recipe)
        collection = workspace.catalog.collection("c")
        assert collection.recipe.text == OLDEST != workspace.catalog.collection("new").recipe.text
        job = IndexJob(workspace.store, workspace.encoder, collection)
        job.run(records((JOINED | COMPOUNDS).items()))
        assert {"comma", "slash", "hyphen"} <= set(exact(workspace, "cancel my plan"))
        assert not {"stop", "colon", "underscore", "space"} & set(exact(workspace, "cancel my plan"))
        assert exact(workspace, "plan.Thanks") == {"stop": "plan.Thanks"}
        assert "non" in exact(workspace, "exclusive licence")
        (live,) = workspace.catalog.live_generation("c").segments
        folder = workspace.store.folder(collection) / live.info.name
        assert read_manifest(folder, live.info.manifest_sha256).recipe == recipe
        assert b"text.v" not in (folder / "manifest.json").read_bytes()
