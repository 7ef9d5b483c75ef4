"""``spanseek calibrate`` and ``spanseek calibrations``: learn what scores mean from labels, and manage the results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, counted, err, one_line, open_services, out, print_json
from app.cli.plots import plots_for
from app.requests import ModeName

if TYPE_CHECKING:
    from app.calibration.answers import Report
    from app.calibration.metrics import Share
    from indexer.tuning import Calibration

calibrations_cli = typer.Typer(help="List, activate and delete the calibrations of a collection.", no_args_is_help=True)
IdArgument = Annotated[str, typer.Argument(help="The calibration's id, or a unique prefix of at least 4 characters.")]


def calibrate(
    collection: CollectionOption,
    labels: Annotated[Path, typer.Option(help="NDJSON or `.csv` file with one label per line, in UTF-8.")],
    activate: Annotated[
        bool, typer.Option("--activate", help="Make it the active calibration in the same step.")
    ] = False,
    precision: Annotated[float, typer.Option(min=0, max=1, help="Precision to suggest a threshold for.")] = 0.9,
    recall: Annotated[float, typer.Option(min=0, max=1, help="Recall to suggest a threshold for.")] = 0.9,
    note: Annotated[str, typer.Option(help="Description of the labels; stored with the calibration.")] = "",
    mode: Annotated[ModeName, typer.Option(help="The mode whose scores are calibrated.")] = "best_span",
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw reliability, precision and recall to this file, `.png`, `.svg`, `.pdf` ...; needs "
            "`spanseek-research`."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Learn from labels what scores mean, and which threshold reaches a precision or recall."""
    from app.calibration.answers import CalibrationDescription, FittedCalibration
    from app.calibration.label_files import read_labels
    from app.calibration.metrics import ThresholdTargets
    from app.calibration.service import CalibrationRequest, ThresholdService

    plots = plots_for(plot)
    request = CalibrationRequest(read_labels(labels), mode, note, activate, ThresholdTargets(precision, recall))
    with open_services() as services:
        calibration, report = services.get(ThresholdService).calibrate(collection, request)
    if plot is not None and plots is not None:
        plots.save_report(plot, report, calibration.knots)
    if as_json:
        print_json(json_values(FittedCalibration(CalibrationDescription.of(calibration), report)))
    else:
        _show_report(report)
        _show_next_step(collection, calibration, report)


@calibrations_cli.command("list")
def list_calibrations(collection: CollectionOption, as_json: JsonOption = False) -> None:
    """List the calibrations of a collection, the newest first."""
    from app.calibration.answers import CalibrationDescription
    from app.calibration.service import ThresholdService

    with open_services() as services:
        calibrations = services.get(ThresholdService).calibrations(collection)
    if as_json:
        print_json([json_values(CalibrationDescription.of(each)) for each in calibrations])
        return
    if not calibrations:
        out.print(f"{collection} has no calibrations: score equals raw.")
    for each in calibrations:
        state = ("active  ", "bold green") if each.active else "        "
        at = each.created_at.isoformat(timespec="seconds")
        line = f"{each.id}  {each.mode}  {each.method} of {counted(each.labels, 'label')}, {at}  {one_line(each.note)}"
        out.print(Text.assemble(state, line.rstrip()), soft_wrap=True)


@calibrations_cli.command("activate")
def activate_calibration(id: IdArgument, collection: CollectionOption) -> None:
    """Make a calibration the active one of its mode."""
    from app.calibration.service import ThresholdService

    with open_services() as services:
        calibration = services.get(ThresholdService).activate(collection, id)
    out.print(f"Calibration {calibration.id} is active now.")


@calibrations_cli.command("deactivate")
def deactivate_calibration(id: IdArgument, collection: CollectionOption) -> None:
    """Deactivate a calibration: score equals raw again."""
    from app.calibration.service import ThresholdService

    with open_services() as services:
        calibration = services.get(ThresholdService).deactivate(collection, id)
    out.print(f"Calibration {calibration.id} is not active.")


@calibrations_cli.command("delete")
def delete_calibration(id: IdArgument, collection: CollectionOption) -> None:
    """Delete an inactive calibration. Thresholds set under it keep selecting the same hits."""
    from app.calibration.service import ThresholdService

    with open_services() as services:
        services.get(ThresholdService).delete(collection, id)
    out.print(f"Calibration {one_line(id)} is deleted.", markup=False)


def _show_report(report: "Report") -> None:
    out.print(f"{counted(report.labels, 'label')}, {report.matches:,} of them matches. The map is {report.method}.")
    out.print(f"Mean calibration error: {report.error_before:.3f} before, {report.error_after:.3f} after.")
    table = Table("for", "score", "raw", "precision", "recall", "F1")
    for one in report.suggested:
        at = one.threshold
        if at is not None:
            shares = map(_with_interval, (at.precision, at.recall, at.f1))
            table.add_row(one.wish, f"{at.score:.3f}", f"{at.raw:.3f}", *shares)
    out.print(table)
    if report.weighted:
        out.print("Precision and recall are estimates for all pairs that the labels were drawn from.", soft_wrap=True)
    for warning in report.warnings:
        err.print(warning, style="yellow", soft_wrap=True)


def _show_next_step(collection: str, calibration: "Calibration", report: "Report") -> None:
    state = "is active now" if calibration.active else "is stored, but not active"
    out.print(f"Calibration {calibration.id} {state}.")
    if not calibration.active:
        out.print(f"Activate it: spanseek calibrations activate {calibration.id} -c {collection}", soft_wrap=True)
    best = report.suggested[0].threshold
    if best is not None:
        mode = "" if calibration.mode == "best_span" else f" --mode {calibration.mode}"
        command = f"spanseek thresholds set {best.score:.3f} -c {collection}{mode}"
        out.print(f"For {report.suggested[0].wish}: {command}", soft_wrap=True)


def _with_interval(share: "Share") -> str:
    return f"{share.value:.3f} ({share.low:.2f} to {share.high:.2f})"
