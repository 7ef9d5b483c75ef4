"""Which modes a collection can be searched in."""

from typing import Literal

from app.search.errors import ModeUnavailable

Mode = Literal["best_span", "maxsim", "facets"]

# What every collection holds.
AVAILABLE: tuple[Mode, ...] = ("best_span",)


def check_mode(collection: str, mode: Mode) -> None:
    """Raise ``ModeUnavailable`` for a mode of which the collection holds nothing."""
    if mode not in AVAILABLE:
        raise ModeUnavailable(
            f"The collection {collection} cannot be searched in mode {mode}.",
            hint=f"Use mode {' or '.join(AVAILABLE)}.",
            field="mode",
        )
