"""Matches of saved phrases take the second look when they arrive."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from app.phrases.answers import Event
from app.phrases.service import PhraseService
from indexer.archives.create import create_archive
from indexer.archives.restore import restore_archive
from indexer.indexing import judged_matches
from indexer.phrases import PhraseChanges, PhraseDraft
from indexer.tuning import Threshold
from models.errors import BackboneMissing, InvalidInput
from models.types import Document, Part
from models.verifier.types import Judgement, Pair
from tests.workspace import Workspace

TEXTS = ["Please cancel my plan!", "I will not cancel my plan.", "The weather is fine here."]


class Reader:
    """A verifier that likes texts with an exclamation mark."""

    decision_point = 0.9

    def __init__(self) -> None:
        self.read: list[Pair] = []

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        self.read += pairs
        return [Judgement(0.9, "match") if "!" in pair.text else Judgement(0.1, "unrelated") for pair in pairs]


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def workspace(tmp_path: Path, reader: Reader) -> Iterator[Workspace]:
    with Workspace(tmp_path, words=True) as made:
        made.store.verifier = lambda recipe: reader  # type: ignore[assignment,return-value]
        made.collection()
        yield made


@pytest.fixture
def phrases(workspace: Workspace) -> PhraseService:
    return PhraseService(workspace.store, workspace.encoders)


def index(workspace: Workspace) -> None:
    workspace.index([Document(f"d{number}", (Part(text),)) for number, text in enumerate(TEXTS)])


def events(phrases: PhraseService) -> list[Event]:
    return list(phrases.events("c", 100).events)


def test_matches_carry_what_the_second_look_says(workspace: Workspace, phrases: PhraseService, reader: Reader) -> None:
    phrases.add("c", PhraseDraft("plan", "cancel my plan", 0.9))
    index(workspace)
    said = {event.document_id: (event.probability, event.verdict) for event in events(phrases)}
    assert said == {"d0": (0.9, "match"), "d1": (0.1, "unrelated")}
    shown = [phrases.match("c", event.match, context=10) for event in events(phrases)]
    assert {each.document_id: (each.probability, each.verdict) for each in shown} == said
    assert {pair.text for pair in reader.read} == {"Please cancel my plan!", "I will not cancel my plan."}


def test_a_phrase_for_likely_matches_has_no_others(workspace: Workspace, phrases: PhraseService) -> None:
    saved = phrases.add("c", PhraseDraft("plan", "cancel my plan", 0.9, likely_only=True))
    assert saved.likely_only
    index(workspace)
    assert [event.document_id for event in events(phrases)] == ["d0"]
    phrases.change("c", "plan", PhraseChanges(likely_only=False))
    assert [event.event for event in events(phrases)] == ["matched", "withdrawn"]


def test_a_phrase_of_threshold_auto_has_its_likely_matches(workspace: Workspace, phrases: PhraseService) -> None:
    drafts = [PhraseDraft(name, "cancel my plan", threshold="auto") for name in ("plan", "again")]
    saved = phrases.add("c", drafts[0])
    assert (saved.own.threshold, saved.likely_only) == (Threshold(0.9, "raw", 0.9), True)
    imported = phrases.put("c", [drafts[1], PhraseDraft("plan", "cancel my plan", threshold="auto")])
    assert [each.status for each in imported.results] == ["created", "unchanged"]
    index(workspace)
    assert [(event.phrase, event.document_id) for event in events(phrases)] == [("again", "d0"), ("plan", "d0")]


def test_a_phrase_that_becomes_auto_keeps_its_likely_matches(workspace: Workspace, phrases: PhraseService) -> None:
    index(workspace)
    phrases.add("c", PhraseDraft("plan", "cancel my plan", 0.8), backfill=True)
    assert {event.document_id for event in events(phrases)} == {"d0", "d1"}
    (imported,) = phrases.put("c", [PhraseDraft("plan", "cancel my plan", threshold="auto")], backfill=True).results
    assert imported.status == "changed"
    standing = {event.document_id: event.event for event in events(phrases)}
    assert standing == {"d0": "matched", "d1": "withdrawn"}
    undone = phrases.undo_threshold("c", "plan", "")
    assert (undone.own.threshold and undone.own.threshold.value, undone.likely_only) == (0.8, True)


def test_a_backfill_judges_as_new_documents_are(workspace: Workspace, phrases: PhraseService) -> None:
    index(workspace)
    phrases.add("c", PhraseDraft("plan", "cancel my plan", 0.9, likely_only=True), backfill=True)
    assert [(event.document_id, event.verdict) for event in events(phrases)] == [("d0", "match")]


def test_snapshots_have_the_verdicts(workspace: Workspace, phrases: PhraseService, tmp_path: Path) -> None:
    phrases.add("c", PhraseDraft("plan", "cancel my plan", 0.9, likely_only=True))
    phrases.add("c", PhraseDraft("any", "cancel my plan", 0.9))
    index(workspace)
    before = events(phrases)
    create_archive(workspace.store, "c", tmp_path / "c.tar")
    restore_archive(workspace.store, tmp_path / "c.tar", "again")
    after = list(phrases.events("again", 100).events)
    assert [(event.phrase, event.verdict, event.probability) for event in after] == [
        (event.phrase, event.verdict, event.probability) for event in before
    ]
    assert {phrase.name: phrase.likely_only for phrase in phrases.list("again", 9).phrases} == {
        "plan": True,
        "any": False,
    }


def test_of_many_matches_the_best_are_judged_and_all_of_phrases_for_likely_ones(
    workspace: Workspace, phrases: PhraseService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judged_matches, "FEWEST", 1)
    phrases.add("c", PhraseDraft("plan", "cancel my plan", 0.9))
    phrases.add("c", PhraseDraft("likely", "cancel my plan", 0.9, likely_only=True))
    index(workspace)
    said = [(event.phrase, event.verdict) for event in events(phrases)]
    assert [verdict for phrase, verdict in said if phrase == "likely"] == ["match"]
    assert [verdict for phrase, verdict in said if phrase == "plan"].count(None) >= 1


def test_without_a_second_look_matches_are_not_judged_and_likely_ones_refused(
    workspace: Workspace, phrases: PhraseService
) -> None:
    workspace.store.verifier = lambda recipe: None
    with pytest.raises(InvalidInput, match="second look") as refused:
        phrases.add("c", PhraseDraft("plan", "cancel my plan", 0.9, likely_only=True))
    assert refused.value.field == "likely_only"
    auto = PhraseDraft("plan", "cancel my plan", threshold="auto")
    with pytest.raises(InvalidInput, match="second look") as refused:
        phrases.add("c", auto)
    assert refused.value.field == "threshold"
    (imported,) = phrases.put("c", [auto]).results
    assert (imported.status, imported.error and imported.error.code) == ("failed", "invalid_input")
    phrases.add("c", PhraseDraft("plan", "cancel my plan", 0.9))
    index(workspace)
    assert {event.verdict for event in events(phrases)} == {None}


def test_documents_arrive_where_the_backbone_is_missing(workspace: Workspace, phrases: PhraseService) -> None:
    def missing(recipe: object) -> None:
        raise BackboneMissing("It is not here.", hint="Copy it.")

    phrases.add("c", PhraseDraft("plan", "cancel my plan", 0.9))
    workspace.store.verifier = missing
    index(workspace)
    assert {event.document_id for event in events(phrases)} == {"d0", "d1"}
