"""What searches answer: models that document it, and functions that write it fast.

The models never see an answer: checking what the search has just made would cost more than the rest of HTTP.
"""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.responses import Response

from app.search.types import Mode, SearchAnswer, ThresholdSource, answer_as_json
from indexer.tuning import ThresholdOn


class ContextBody(BaseModel):
    """The hit's surroundings; `text[start:end]` of them, in code points, is the hit."""

    text: str
    start: int
    end: int


class UnitBody(BaseModel):
    """What one unit adds to the cosine of its span."""

    start: int
    end: int
    text: str
    contribution: float


class ExplanationBody(BaseModel):
    """The cosine, and the units' contributions that add up to it."""

    cosine: float
    units: list[UnitBody]


class TextSpanBody(BaseModel):
    """Where something stands in a text, and what it says."""

    start: int
    end: int
    text: str


class PairBody(BaseModel):
    """A vector of the query, and the document's nugget that answers it best."""

    query: TextSpanBody | None = Field(description="The part of the query that its vector stands for; null for none.")
    nugget: TextSpanBody = Field(description="The nugget's token.")
    stretch: TextSpanBody = Field(description="What the nugget stands for: from the nugget before it to its own end.")
    cosine: float
    contribution: float = Field(description="The cosine over the number of the query's vectors.")


class PairedExplanationBody(BaseModel):
    """The mean cosine of the pairs, and the pairs, whose contributions add up to it."""

    cosine: float
    pairs: list[PairBody]


class HitBody(BaseModel):
    """A span found or, in mode maxsim, a whole document. `text` is what stands in it between `start` and `end`."""

    document_id: str
    start: int = Field(description="Where the span starts in the document, in `offset_unit`s.")
    end: int = Field(description="Where it ends; this position is no more part of it.")
    text: str
    score: float = Field(description="Calibrated similarity, 0 to 1.")
    raw: float = Field(description="(1 + cosine) / 2; hits are ordered by it.")
    mode: Mode
    rank: int = Field(description="1 is the best.")
    metadata: dict[str, Any] = Field(description="The document's metadata.")
    part_metadata: dict[str, Any] | None = Field(None, description="The part's metadata; absent if empty.")
    context: ContextBody | None = Field(None, description="Absent unless asked for.")
    explanation: ExplanationBody | PairedExplanationBody | None = Field(
        None, description="Absent unless asked for; pairs in mode maxsim."
    )


class ThresholdBody(BaseModel):
    """The threshold that was applied; null means none."""

    value: float | None
    on: ThresholdOn
    source: ThresholdSource = Field(description="Whose it is: the request's, a saved phrase's, or the collection's.")
    calibration: str | None = Field(description="The calibration that scores were made with; null: score is raw.")


class AnswerBody(BaseModel):
    """Hits, best first, all from one generation of the collection."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "hits": [
                        {
                            "document_id": "call-17",
                            "start": 42,
                            "end": 62,
                            "text": "stop my monthly plan",
                            "score": 0.87,
                            "raw": 0.87,
                            "mode": "best_span",
                            "rank": 1,
                            "metadata": {"kind": "conversation"},
                            "part_metadata": {"speaker": "customer"},
                        }
                    ],
                    "generation": 3,
                    "threshold": {"value": 0.8, "on": "score", "source": "request", "calibration": "7f3a..."},
                    "took_ms": 11.4,
                }
            ]
        }
    )

    hits: list[HitBody]
    generation: int
    threshold: ThresholdBody
    took_ms: float


class BatchAnswerBody(BaseModel):
    """One answer for every query, in their order."""

    results: list[AnswerBody]


def answer_response(found: SearchAnswer) -> Response:
    """The answer to one query."""
    return json_response(answer_as_json(found))


def batch_response(found: Iterable[SearchAnswer]) -> Response:
    """The answer to several queries."""
    return json_response({"results": [answer_as_json(each) for each in found]})


def json_response(body: object) -> Response:
    """JSON without NaN and infinities, whatever happens: JSON has no words for them."""
    return Response(to_json(body, inf_nan_mode="null"), media_type="application/json")
