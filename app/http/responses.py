"""Answers as HTTP responses.

Routes name the answer's dataclass as their ``response_model``, which documents it, and return a response, which
FastAPI does not validate: to check what was just computed would cost more than the rest of HTTP.
"""

from starlette.responses import Response

from app.answers import to_json


def answer_response(answer: object, status: int = 200) -> Response:
    """The response with an answer's dataclass."""
    return Response(to_json(answer), status, media_type="application/json")
