"""Documents of stores that the server refuses: an error, and nothing lost in silence."""

from spanseek.errors import SpanseekError
from spanseek.requests import Added

_NAMED = 3


class DocumentsRefused(SpanseekError):
    """Documents were not indexed. ``added`` has their number and the first reasons; all others are indexed."""

    def __init__(self, added: Added) -> None:
        total = added.indexed + added.unchanged + added.failed
        reasons = "; ".join(f"document {each.id or each.line}: {each.detail}" for each in added.errors[:_NAMED])
        super().__init__(f"{added.failed} of {total} documents were refused: {reasons}.")
        self.added = added


def all_added(added: Added) -> Added:
    """An outcome without failures. Raises ``DocumentsRefused``."""
    if added.failed:
        raise DocumentsRefused(added)
    return added
