"""``/admin/collections/{collection}/label-candidates``: pairs of a phrase and a span to label."""

import asyncio
from dataclasses import replace
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from app.calibration.label_candidates import (
    MAX_CANDIDATES,
    MAX_PHRASES,
    SEED,
    LabelCandidates,
    LabelCandidatesRequest,
)
from app.calibration.labels import FEWEST
from app.calibration.service import ThresholdService
from app.http.auth import CallerDependency
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.http.schemas import CollectionPath
from app.requests import ModeName, QueryText, SimilarityText, filter_of
from indexer.tuning import ThresholdOn
from models.fields import converted

router = api_router(
    prefix="/admin/collections/{collection}", tags=["admin"], responses=problems(401, 403, 404, 409, 422)
)


class LabelCandidatesQuery(BaseModel):
    """Phrases to label, and the number of pairs."""

    model_config = ConfigDict(extra="forbid")

    phrase: list[QueryText] = Field(
        min_length=1, max_length=MAX_PHRASES, description="An origin phrase; repeat for several."
    )
    count: int = Field(200, ge=FEWEST, le=MAX_CANDIDATES, description="The number of pairs.")
    seed: int = Field(SEED, ge=0, lt=2**63, description="The seed: on one generation it draws the same pairs.")
    mode: ModeName = Field("best_span", description="How similarity is measured.")
    threshold: SimilarityText | None = Field(
        None, description="Most pairs are drawn near it; else near the collection's, or near a score of 0.8."
    )
    threshold_on: ThresholdOn = Field("score", description="The scale of the threshold and the floor.")
    floor: SimilarityText | None = Field(
        None, description="Draw from all spans that reach it, instead of from the best of each document."
    )
    filter: str | None = Field(
        None,
        description='As in a search: an expression, or JSON such as `{"document": {"lang": "en"}}`. Draw from '
        "spans that pass it.",
    )

    def request(self, collection: str) -> LabelCandidatesRequest:
        """The request for the service."""
        phrases, filter = tuple(self.phrase), filter_of(self.filter)
        return converted(self, LabelCandidatesRequest, collection=collection, phrases=phrases, filter=filter)


@router.get("/label-candidates", response_model=LabelCandidates, summary="Propose what to label")
async def propose_label_candidates(
    collection: CollectionPath, query: Annotated[LabelCandidatesQuery, Query()], caller: CallerDependency
) -> Response:
    """Draw pairs with known probabilities from strata of raw, most of them near the threshold."""
    request = await asyncio.to_thread(query.request, collection)
    request = replace(request, filter=caller.confine("admin", collection, request.filter))
    backend = caller.backend
    candidates = await backend.tuning.run(
        lambda: backend.get(ThresholdService).candidates(request), backend.limits.write_deadline_s
    )
    return answer_response(candidates)
