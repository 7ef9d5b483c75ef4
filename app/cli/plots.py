"""Plots of previews and calibration reports. Research draws them; the product has no plotting library."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from app.cli.plugins import plots

if TYPE_CHECKING:
    from app.calibration.answers import Report
    from app.calibration.preview import Preview


class Plots(Protocol):
    """The module of the entry point ``tuning`` in the group ``spanseek.plots``."""

    def check_format(self, path: Path) -> None:
        """Raise ``InvalidInput`` for a file ending that cannot be drawn."""

    def save_preview(self, path: Path, preview: "Preview") -> None:
        """Draw a preview."""

    def save_report(self, path: Path, report: "Report", knots: Sequence[tuple[float, float]]) -> None:
        """Draw a calibration report."""


def plots_for(path: Path | None) -> Plots | None:
    """The plots, if there is a file to draw to. Raises ``ResearchMissing`` and ``InvalidInput``."""
    if path is None:
        return None
    found: Plots = plots()
    found.check_format(path)
    return found
