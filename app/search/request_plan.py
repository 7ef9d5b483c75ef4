"""The plan of a search: the request as its mode has read it, with its threshold, page, list and verification."""

import json
import time
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias

from app.requests import SearchRequest
from app.search import literal
from app.search.aggregation.stage import Aggregation, aggregation_of
from app.search.answers import UsedThreshold
from app.search.mode import Mode, Query, Read, selection_of
from app.search.paging import Page, check_list
from app.search.reading import check_accepted
from app.search.threshold import cosine_floor, no_number, used_threshold
from app.search.verification.ordering import Verification
from app.search.verification.stage import HitVerifier, no_verifier
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.tuning import Tuning, check_threshold
from indexer.words.literal import Terms
from models.errors import InvalidInput
from models.text.checks import unstorable


@dataclass(frozen=True, slots=True)
class Prepared(Generic[Read, Query]):
    """A checked request with its mode, snapshot and tuning, and the parts of its plan.

    ``query`` is the request as its mode has read it, ``terms`` its words whose occurrences rank first. Hits from
    ``page`` on are shown, of the list that the ``aggregation`` makes.
    """

    request: SearchRequest
    mode: Mode[Read, Query]
    snapshot: Snapshot
    tuning: Tuning
    threshold: UsedThreshold
    selection: Selection
    query: Read
    terms: Terms
    started: float
    verification: Verification
    page: Page
    aggregation: Aggregation | None

    def require_number(self) -> None:
        """Raise ``InvalidInput`` for a threshold that is not a number: it does not apply to hits that were not read."""
        if self.threshold.source == "auto" and self.threshold.value is None:
            raise no_number(self.mode.name)


@dataclass(frozen=True, slots=True)
class Encoded(Generic[Read, Query]):
    """A prepared request and its query as the mode has encoded it."""

    prepared: Prepared[Read, Query]
    query: Query


# The stages pass requests of all modes, and do not look into what a mode has read.
AnyPrepared: TypeAlias = Prepared[Any, Any]
AnyEncoded: TypeAlias = Encoded[Any, Any]


def plan_of(
    request: SearchRequest,
    snapshot: Snapshot,
    mode: Mode[Read, Query],
    tuning: Tuning,
    started: float,
    verifier: HitVerifier | None = None,
    page: Page | None = None,
) -> Prepared[Read, Query]:
    """Validate a request, and tokenize it."""
    page, verifier, recipe = page or Page(request.offset), verifier or HitVerifier(no_verifier, None), snapshot.recipe
    _check(request, mode)
    loading = time.perf_counter()
    if request.text is not None:
        mode.load(recipe)
    count = 0 if page.judged is False else verifier.count(request, mode, recipe)
    decision_point = verifier.decision_point(request, mode, recipe) if request.threshold == "auto" else None
    started += time.perf_counter() - loading  # not part of the answer's time
    query = mode.read(request, recipe)
    tuning = tuning.made_for(mode.countable.score_fingerprint(request, recipe))
    used = used_threshold(request, tuning, decision_point)
    check_list(page, request, used)
    aggregation = aggregation_of(request, mode, snapshot, used)
    return Prepared(
        request,
        mode,
        snapshot,
        tuning,
        used,
        _selection(request, mode, used, tuning, page.place, count, aggregation),
        query,
        literal.terms_of(mode, request, recipe),
        started,
        Verification.of(count, request, used),
        page,
        aggregation,
    )


def _selection(
    request: SearchRequest,
    mode: Mode[Read, Query],
    used: UsedThreshold,
    tuning: Tuning,
    place: int,
    verified: int,
    aggregation: Aggregation | None,
) -> Selection:
    """The selection of one result more than is shown, which says whether there are more."""
    floor = None if used.value is None else cosine_floor(used.value, used.on, tuning)
    selection = selection_of(mode, request, floor)
    shown = place + selection.top_k
    # Of threshold auto, unlikely ones among those read are dropped.
    most = shown + verified if request.threshold == "auto" else max(shown, verified)
    return replace(selection, top_k=(most if aggregation is None else aggregation.limit) + 1)


def _check(request: SearchRequest, mode: Mode[Read, Query]) -> None:
    if (request.text is None) == (request.vector is None):
        raise InvalidInput("Give either text or vector.", field="text")
    filter = json.dumps([dict(request.filter.document), dict(request.filter.part)], ensure_ascii=False)
    for field, value in (("text", request.text or ""), ("filter", filter)):
        reason = unstorable(value, nul=True)
        if reason is not None:
            raise InvalidInput(f"The {field} holds {reason}.", hint="Send UTF-8.", field=field)
    if request.threshold != "auto":
        check_threshold(request.threshold)
    check_accepted(mode, request)
