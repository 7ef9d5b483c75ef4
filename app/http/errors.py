"""What can go wrong in HTTP alone, and nowhere else."""

from models.errors import SpanseekError


class BadJson(SpanseekError):
    """The body is not JSON."""

    code = "bad_json"


class Unauthenticated(SpanseekError):
    """The request has no API key, or one that is not valid."""

    code = "unauthenticated"


class Forbidden(SpanseekError):
    """The API key does not allow this."""

    code = "forbidden"


class RouteNotFound(SpanseekError):
    """There is nothing at this path."""

    code = "route_not_found"


class MethodNotAllowed(SpanseekError):
    """The path exists, but not for this method."""

    code = "method_not_allowed"


class BodyTooLarge(SpanseekError):
    """The body is larger than the server accepts."""

    code = "body_too_large"


class InternalError(SpanseekError):
    """Something went wrong in the server that is no fault of the request."""

    code = "internal_error"


class NotReady(SpanseekError):
    """The server cannot answer searches yet."""

    code = "not_ready"
