"""``spanseek calibrate``: scores that mean something, learned from labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from app.cli.console import CollectionOption, JsonOption, checked_store, err, out, print_json
from app.cli.plots import plots_for
from app.search.types import Mode
from app.settings import Settings

if TYPE_CHECKING:
    from app.calibration.metrics import Share
    from app.calibration.report import Report


def calibrate(
    collection: CollectionOption,
    labels: Annotated[Path, typer.Option(help="NDJSON or CSV file with a label a line.")],
    activate: Annotated[bool, typer.Option("--activate", help="Make it the active calibration at once.")] = False,
    precision: Annotated[float, typer.Option(min=0, max=1, help="Precision to suggest a threshold for.")] = 0.9,
    recall: Annotated[float, typer.Option(min=0, max=1, help="Recall to suggest a threshold for.")] = 0.9,
    note: Annotated[str, typer.Option(help="What the labels are; kept with the calibration.")] = "",
    mode: Annotated[Mode, typer.Option(help="The mode whose scores are calibrated.")] = "best_span",
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw reliability, precision and recall to this file; its ending says the format."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Learn from labels what scores mean, and which threshold keeps which promise."""
    from app.calibration.labels import read_labels
    from app.calibration.metrics import ThresholdTargets
    from app.calibration.report import report_as_json
    from app.calibration.service import CalibrationRequest
    from app.composition import Services

    plots = plots_for(plot)
    asked = CalibrationRequest(read_labels(labels), mode, note, activate, ThresholdTargets(precision, recall))
    settings = Settings()
    with checked_store(settings) as store:
        made, report = Services(settings, store).thresholds.calibrate(collection, asked)
    if plot is not None and plots is not None:
        plots.save_report(plot, report, made.knots)
    if as_json:
        print_json({"calibration": {"id": made.id, "active": made.active}, "report": report_as_json(report)})
    else:
        _show(report)
        state = "is active now" if made.active else "is kept, and not active"
        out.print(f"The calibration {made.id} {state}.")
        if not made.active:
            out.print(f"spanseek calibrations activate {made.id} -c {collection} makes it so.", soft_wrap=True)


def _show(report: "Report") -> None:
    out.print(f"{report.labels:,} labels, {report.matches:,} of them matches. The map is {report.method}.")
    out.print(f"Scores are off by {report.error_before:.3f} before, {report.error_after:.3f} after, on average.")
    table = Table("for", "score", "raw", "precision", "recall", "F1")
    for one in report.suggested:
        at = one.threshold
        if at is not None:
            shares = map(_told, (at.precision, at.recall, at.f1))
            table.add_row(one.wish, f"{at.score:.3f}", f"{at.raw:.3f}", *shares)
    out.print(table)
    if report.weighted:
        out.print("Precision and recall are those of everything that the labels were drawn from.")
    for warning in report.warnings:
        err.print(warning, style="yellow", soft_wrap=True)


def _told(share: "Share") -> str:
    return f"{share.value:.3f} ({share.low:.2f} to {share.high:.2f})"
