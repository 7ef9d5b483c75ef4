"""``/admin/collections/{collection}/thresholds/preview``: counts for a threshold before it is set."""

from starlette.responses import Response

from app.calibration.preview import Preview
from app.calibration.service import ThresholdService
from app.http.auth import CallerDependency
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.http.schemas import CollectionPath
from app.requests import PreviewOptions, PreviewRequest
from models.fields import converted

router = api_router(
    prefix="/admin/collections/{collection}/thresholds/preview",
    tags=["admin"],
    responses=problems(401, 403, 404, 409, 422, 507),
)


@router.post("", response_model=Preview, summary="See what a threshold would find")
async def preview_threshold(collection: CollectionPath, body: PreviewOptions, caller: CallerDependency) -> Response:
    """Count, exactly and over the whole collection, the hits of every threshold. Changes nothing."""
    filter = caller.confine("admin", collection, body.filter)
    if body.saved:  # saved phrases belong to all who share the collection
        caller.require("admin", collection)
    backend, request = caller.backend, converted(body, PreviewRequest, collection=collection, filter=filter)
    preview = await backend.tuning.run(
        lambda: backend.get(ThresholdService).preview(request), backend.limits.write_deadline_s
    )
    return answer_response(preview)
