"""The last resort: an unforeseen exception is logged, and answered without a word about what it was."""

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.errors import InternalError
from app.http.problems import problem_response

_log = logging.getLogger(__name__)


class Guard:
    """ASGI middleware that answers 500 where the application raised."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and wait for trouble."""
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception:
            if scope["type"] != "http" or begun:
                raise
            _log.exception("unforeseen error in %s %r", scope["method"], scope["path"])
            await problem_response(internal_error())(scope, receive, send)


def internal_error() -> InternalError:
    """What is said of an unforeseen error."""
    return InternalError(
        "The server failed in a way that was not foreseen.", hint="Its log says why; the request may well be right."
    )
