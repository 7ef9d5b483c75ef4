"""A bar on standard error while documents are indexed."""

import sys
from collections.abc import Callable
from typing import TypeAlias

from spanseek.models import TaskDescription

# Called with every state of a task, the last one included.
Watch: TypeAlias = Callable[[TaskDescription], None]
_WIDTH = 30


def watcher(progress: bool | Watch | None) -> Watch:
    """The watcher of a task: a function, a bar, or nothing. ``None`` draws a bar in a terminal or a notebook."""
    if callable(progress):
        return progress
    is_shown = sys.stderr.isatty() or "ipykernel" in sys.modules if progress is None else progress
    return _draw if is_shown else lambda task: None


def bar(task: TaskDescription) -> str:
    """The state of a task in one line."""
    done, total = task.progress.done, task.progress.total or 0
    share = min(1.0, done / total) if total else float(task.status == "done")
    counts = ", ".join(f"{count:,} {name}" for name, count in task.counts.items() if count)
    return f"{'█' * round(share * _WIDTH):░<{_WIDTH}} {share:4.0%}  {task.status}  {counts}"


def _draw(task: TaskDescription) -> None:
    sys.stderr.write(f"\r{bar(task)}{chr(10) if task.finished_at else ''}")
    sys.stderr.flush()
