"""``/admin/collections/{collection}/calibrations/candidates``: what to label."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, Json
from starlette.responses import Response

from app.calibration.label_candidates import (
    MAX_CANDIDATES,
    MAX_PHRASES,
    SEED,
    LabelCandidatesRequest,
    label_candidates_as_json,
)
from app.calibration.labels import FEWEST
from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.responses import ThresholdBody, json_response
from app.http.routes.thresholds import Collection
from app.http.schemas import FilterBody, QueryText
from app.search.types import Mode
from indexer.engine.query import Filter
from indexer.tuning import ThresholdOn

router = APIRouter(prefix="/admin/collections/{collection}/calibrations/candidates", tags=["admin"])


class CandidatesQuery(BaseModel):
    """Phrases to label for, and how many pairs."""

    model_config = ConfigDict(extra="forbid")

    phrase: list[QueryText] = Field(min_length=1, max_length=MAX_PHRASES, description="An origin phrase; repeatable.")
    count: int = Field(200, ge=FEWEST, le=MAX_CANDIDATES, description="How many pairs to propose.")
    seed: int = Field(SEED, ge=0, lt=2**63, description="Decides what is drawn; the answer repeats it.")
    mode: Mode = Field("best_span", description="How to search.")
    threshold: FiniteFloat | None = Field(
        None, ge=0, le=1, description="Where most are drawn; else the collection's threshold, or a score of 0.8."
    )
    threshold_on: ThresholdOn = Field("score", description="Which scale the threshold and the floor are on.")
    floor: FiniteFloat | None = Field(
        None, ge=0, le=1, description="Draw from all spans that reach it, instead of from the best of each document."
    )
    filter: Json[FilterBody] = Field(
        FilterBody(), description='As in a search, in JSON: `{"document": {"lang": "en"}}`. Draw from nothing else.'
    )

    def request(self, collection: str) -> LabelCandidatesRequest:
        """The query as the service understands it."""
        return LabelCandidatesRequest(
            collection=collection,
            phrases=tuple(self.phrase),
            count=self.count,
            seed=self.seed,
            mode=self.mode,
            threshold=self.threshold,
            threshold_on=self.threshold_on,
            floor=self.floor,
            filter=Filter(self.filter.document, self.filter.part),
        )


class StratumBody(BaseModel):
    """Pairs with a raw from `low` up to `high`."""

    number: int = Field(description="1 is the highest.")
    low: float
    high: float
    population: int = Field(description="How many pairs there are.")
    drawn: int = Field(description="How many of them were drawn.")


class CandidateSpanBody(BaseModel):
    """Where a span lies."""

    document_id: str
    start: int = Field(description="In code points.")
    end: int


class CandidateBody(BaseModel):
    """A pair to label."""

    phrase: str
    span: CandidateSpanBody
    says: str = Field(description="The span's text.")
    context: str = Field(description="The span within its surroundings.")
    score: float
    raw: float
    stratum: int = Field(description="Give it back with the label.")
    probability: float = Field(description="With which it was drawn. Give it back with the label.")


class CandidatesBody(BaseModel):
    """What to label, in random order: whoever stops half-way has labelled some of every kind."""

    collection: str
    mode: Mode
    generation: int
    seed: int
    threshold: ThresholdBody
    near: float = Field(description="The raw around which the strata lie.")
    strata: list[StratumBody]
    candidates: list[CandidateBody]
    took_ms: float


@router.get(
    "",
    response_model=CandidatesBody,
    summary="Propose what to label",
    responses=problems(401, 403, 404, 409, 422, 429, 503, 504),
)
async def propose_candidates(
    collection: Collection, query: Annotated[CandidatesQuery, Query()], caller: CallerDependency
) -> Response:
    """Draw spans with known probabilities from strata of the score, most of them near the threshold."""
    caller.require("admin", collection)
    backend = caller.backend
    request = query.request(collection)
    found = await backend.tuning.run(lambda: backend.thresholds.candidates(request), backend.limits.write_deadline_s)
    return json_response(label_candidates_as_json(found))
