"""Logs as text or as one JSON object a line, without what callers wrote."""

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Final

FORMATS: Final = ("text", "json")
_REQUEST: Final = ("request_id", "client", "key", "method", "route", "status", "seconds")


class JsonFormatter(logging.Formatter):
    """Formats a record as JSON: time, level, logger, message, and the request that it belongs to.

    Of an exception it has the class and the places in the code, not the message, which may quote a text.

    >>> record = logging.LogRecord("app", logging.INFO, "", 0, "ready", None, None)
    >>> json.loads(JsonFormatter().format(record))["message"]
    'ready'
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in _REQUEST if hasattr(record, name)}
        if record.exc_info and record.exc_info[0] is not None:
            frames = traceback.extract_tb(record.exc_info[2])
            line["exception"] = record.exc_info[0].__qualname__
            line["places"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(line, ensure_ascii=False)
