"""``/sign-in``: how people sign in on the page. It needs no key, as nobody has one yet."""

from fastapi import Request
from starlette.responses import Response

from app.http.openapi import api_router
from app.http.responses import answer_response
from app.http.sign_in import SignIn

router = api_router(prefix="/sign-in", tags=["keys"])


@router.get("", response_model=SignIn, summary="See how people sign in")
async def get_sign_in(request: Request) -> Response:
    """Say which identity provider gives tokens to people, if any; each takes API keys, too."""
    return answer_response(SignIn(request.app.state.provider))
