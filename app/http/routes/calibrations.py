"""``/admin/collections/{collection}/calibrations``: fit and manage the calibrations of a collection."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Path
from pydantic import ConfigDict, Field, FiniteFloat
from pydantic.types import JsonValue
from starlette.responses import Response

from app.calibration.answers import CalibrationDescription, CalibrationList, DeletedCalibration, FittedCalibration
from app.calibration.labels import Label, label_from_json
from app.calibration.metrics import ThresholdTargets
from app.calibration.service import CalibrationRequest, ThresholdService
from app.http.auth import CallerDependency, in_pool
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.http.schemas import CollectionPath, Note
from app.requests import MAX_NAME, Body, DocumentId, ModeName, QueryText, Similarity
from indexer.tuning import CalibrationDraft
from models.errors import InvalidInput
from models.types import SpanBounds

router = api_router(
    prefix="/admin/collections/{collection}/calibrations", tags=["admin"], responses=problems(401, 403, 404, 422)
)
MAX_KNOTS = 20_000
CalibrationId = Annotated[
    str, Path(description="The calibration's id, or a unique prefix of at least 4 characters.", max_length=200)
]

LABELS: list[JsonValue] = [
    {"phrase": "cancel my subscription", "text": "stop my membership", "match": True},
    {
        "phrase": "cancel my subscription",
        "span": {"document_id": "call-17", "start": 42, "end": 60},
        "degree": 4.5,
    },
]


class StoredSpanBody(Body):
    """A span of a document of the collection."""

    document_id: DocumentId
    start: int = Field(ge=0, description="In code points.")
    end: int = Field(ge=0)


class LabelBody(Body):
    """A label of a phrase and a text: with `text` or `span`, and with `match` or `degree`."""

    phrase: QueryText = Field(description="The origin phrase.")
    text: QueryText | None = Field(None, description="A text to compare it with.")
    span: StoredSpanBody | None = Field(None, description="Or a span of the collection.")
    match: bool | None = Field(None, description="True if both mean the same.")
    degree: FiniteFloat | None = Field(
        None, ge=0, le=5, description="Or the degree, from 0 to 5; 4 or more is a match."
    )
    probability: FiniteFloat | None = Field(
        None, gt=0, le=1, description="The label candidate's probability, if it was one."
    )
    stratum: int = Field(0, ge=0, lt=2**31, description="The label candidate's stratum.")


def labels_of(bodies: Sequence[LabelBody]) -> list[Label]:
    """The labels of a body; raises ``LabelsRefused`` for an invalid one, and names it."""
    return [label_from_json(body.model_dump(), f"labels[{number}]") for number, body in enumerate(bodies)]


class CalibrateBody(Body):
    """Labels to fit a calibration to."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"labels": LABELS, "note": "March audit"}]})

    labels: list[LabelBody] = Field(
        description="At least 20 different ones: `phrase`; `text`, or `span` of a document of the collection "
        "(`document_id`, `start`, `end` in code points); `match`, or `degree` from 0 (nothing in common) to 5 (the "
        "same), where 4 and more is a match; of a label candidate its `probability` and `stratum`. All labels have a "
        "probability, or none has."
    )
    mode: ModeName = Field("best_span", description="The mode whose scores are calibrated.")
    note: Note = Field("", description="A note, stored with the calibration.")
    activate: bool = Field(False, description="Activate the calibration in the same transaction.")
    precision: FiniteFloat = Field(0.9, gt=0, le=1, description="The target precision of a suggested threshold.")
    recall: FiniteFloat = Field(0.9, gt=0, le=1, description="The target recall of a suggested threshold.")

    def request(self) -> CalibrationRequest:
        """The request for the service; raises ``LabelsRefused`` for an invalid label."""
        labels, targets = labels_of(self.labels), ThresholdTargets(self.precision, self.recall)
        return CalibrationRequest(labels, self.mode, self.note, self.activate, targets)


class SpanUnitsBody(Body):
    """The bounds of a span's length in units, both included."""

    shortest: int = Field(ge=1)
    longest: int = Field(le=64)


class ImportBody(Body):
    """A calibration of another collection, as its list shows it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "fingerprint": "slice.v1-5c2b...",
                    "span_units": {"shortest": 1, "longest": 20},
                    "knots": [[0, 0], [0.71, 0.02], [0.93, 0.98], [1, 1]],
                    "method": "logistic",
                    "labels": 200,
                }
            ]
        }
    )

    fingerprint: str = Field(max_length=MAX_NAME, description="The fingerprint of its encoder.")
    span_units: SpanUnitsBody = Field(description="Its span bounds.")
    mode: ModeName = Field("best_span", description="Its mode.")
    knots: list[Annotated[list[Similarity], Field(min_length=2, max_length=2)]] = Field(
        min_length=2, max_length=MAX_KNOTS, description="Pairs of raw and score, both increasing from 0 to 1."
    )
    method: Literal["isotonic", "logistic"] = Field(description="The method of fitting.")
    labels: int = Field(ge=0, le=2**53, description="The number of labels.")
    note: Note = Field("", description="A note, stored with the calibration.")
    activate: bool = Field(False, description="Activate the calibration in the same transaction.")
    figures: dict[str, JsonValue] = Field({}, description="As listed; stored with the calibration.")
    id: str | None = Field(None, description="As listed; ignored: the copy gets its own id.")
    active: bool = Field(False, description="As listed; ignored.")
    created_at: str | None = Field(None, description="As listed; ignored.")

    def draft(self) -> CalibrationDraft:
        """The draft for the catalog; raises ``InvalidInput`` for invalid bounds."""
        try:
            bounds = SpanBounds(self.span_units.shortest, self.span_units.longest)
        except ValueError as error:
            raise InvalidInput(str(error), hint="shortest cannot be more than longest.", field="span_units") from error
        knots = tuple((raw, score) for raw, score in self.knots)
        return CalibrationDraft(
            self.mode, self.fingerprint, bounds, knots, self.method, self.labels, self.note, self.figures
        )


@router.get("", response_model=CalibrationList, summary="List the calibrations")
def list_calibrations(collection: CollectionPath, caller: CallerDependency) -> Response:
    """List the collection's calibrations, the newest first."""
    caller.require("admin", collection)
    calibrations = caller.backend.get(ThresholdService).calibrations(collection)
    return answer_response(CalibrationList(tuple(map(CalibrationDescription.of, calibrations))))


@router.post(
    "", response_model=FittedCalibration, summary="Learn a calibration from labels", responses=problems(409, 507)
)
async def calibrate(collection: CollectionPath, body: CalibrateBody, caller: CallerDependency) -> Response:
    """Fit an increasing map from raw to score and store it. If labels are refused, nothing is stored."""
    caller.require("admin", collection)
    backend = caller.backend
    calibration, report = await backend.tuning.run(
        lambda: backend.get(ThresholdService).calibrate(collection, body.request()), backend.limits.write_deadline_s
    )
    return answer_response(FittedCalibration(CalibrationDescription.of(calibration), report))


@router.post(
    "/import",
    response_model=CalibrationDescription,
    summary="Take a calibration over from another collection",
    responses=problems(409, 507),
)
@in_pool
def import_calibration(collection: CollectionPath, body: ImportBody, caller: CallerDependency) -> Response:
    """Import a calibration with the same encoder, mode and span bounds; others are refused."""
    caller.require("admin", collection)
    service = caller.backend.get(ThresholdService)
    return answer_response(CalibrationDescription.of(service.adopt(collection, body.draft(), activate=body.activate)))


@router.post("/{id}/activate", response_model=CalibrationDescription, summary="Activate a calibration")
@in_pool
def activate_calibration(collection: CollectionPath, id: CalibrationId, caller: CallerDependency) -> Response:
    """Activate a calibration atomically; the collection's threshold still selects the same hits."""
    caller.require("admin", collection)
    return answer_response(CalibrationDescription.of(caller.backend.get(ThresholdService).activate(collection, id)))


@router.post("/{id}/deactivate", response_model=CalibrationDescription, summary="Deactivate a calibration")
@in_pool
def deactivate_calibration(collection: CollectionPath, id: CalibrationId, caller: CallerDependency) -> Response:
    """Deactivate a calibration; score then equals raw."""
    caller.require("admin", collection)
    return answer_response(CalibrationDescription.of(caller.backend.get(ThresholdService).deactivate(collection, id)))


@router.delete("/{id}", response_model=DeletedCalibration, summary="Delete a calibration", responses=problems(409))
@in_pool
def delete_calibration(collection: CollectionPath, id: CalibrationId, caller: CallerDependency) -> Response:
    """Delete an inactive calibration. Thresholds that were set under it still select the same hits."""
    caller.require("admin", collection)
    caller.backend.get(ThresholdService).delete(collection, id)
    return answer_response(DeletedCalibration(id))
