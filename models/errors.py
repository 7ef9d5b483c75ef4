"""Errors: each has a stable code, a message that says what is wrong, and a hint what to do."""

from typing import ClassVar


class SpanseekError(Exception):
    """The root of all errors that Spanseek raises on purpose.

    ``code`` is stable and public; ``hint`` says what to do next; ``field`` names the invalid input, if there is one.
    ``http_status`` is set by plug-ins alone: those of the core are in ``app.http.problems``.

    >>> error = InvalidInput("top_k is 0", hint="Ask for at least one hit.", field="top_k")
    >>> error.code, str(error), error.field
    ('invalid_input', 'top_k is 0', 'top_k')
    """

    code: ClassVar[str] = "internal_error"
    http_status: ClassVar[int | None] = None

    def __init__(self, message: str, *, hint: str = "", field: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.field = field


class InvalidInput(SpanseekError):
    """The input is invalid; nothing was changed."""

    code = "invalid_input"


class ExtraMissing(InvalidInput):
    """A plug-in is needed, and not installed. The message begins with what needs it, and says how to install it.

    >>> raise ExtraMissing("PDF files need", "files")
    Traceback (most recent call last):
    models.errors.ExtraMissing: PDF files need `pip install 'spanseek[files]'`.
    """

    code = "extra_missing"

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} `pip install 'spanseek[{extra}]'`.", hint="Install it, and try again.")


class BackboneMissing(SpanseekError):
    """There is no backbone where the settings point to."""

    code = "backbone_missing"


class BackboneMismatch(SpanseekError):
    """The weights are not the expected ones."""

    code = "backbone_mismatch"


class DeviceUnavailable(SpanseekError):
    """The requested device is not available on this machine."""

    code = "device_unavailable"


class DeviceMemoryExhausted(SpanseekError):
    """The device has too little memory for the smallest step of the work, or for what it must hold."""

    code = "device_memory_exhausted"


class UnknownEncoder(SpanseekError):
    """No encoder is registered under this name."""

    code = "unknown_encoder"
