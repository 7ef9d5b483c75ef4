"""``spanseek calibrations``: those that are kept with a collection, and which of them is active."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from app.cli.console import CollectionOption, JsonOption, checked_store, one_line, out, print_json
from app.settings import Settings

if TYPE_CHECKING:
    from app.calibration.service import ThresholdService
    from indexer.tuning import Calibration

calibrations_cli = typer.Typer(help="Calibrations that are kept with a collection.", no_args_is_help=True)
IdArgument = Annotated[str, typer.Argument(help="The calibration's id, as listed.")]


@calibrations_cli.command("list")
def list_calibrations(collection: CollectionOption, as_json: JsonOption = False) -> None:
    """List the calibrations of a collection, the newest first."""
    with _service() as service:
        found = service.calibrations(collection)
    if as_json:
        print_json([_as_json(each) for each in found])
        return
    if not found:
        out.print(f"{collection} has no calibrations: score is raw.")
    for each in found:
        state = ("active  ", "bold green") if each.active else "        "
        at = each.created_at.isoformat(timespec="seconds")
        told = f"{each.id}  {each.mode}  {each.method} of {each.labels:,} labels, {at}  {one_line(each.note)}"
        out.print(Text.assemble(state, told.rstrip()), soft_wrap=True)


@calibrations_cli.command("activate")
def activate_calibration(id: IdArgument, collection: CollectionOption) -> None:
    """Make a calibration the active one of its mode, instead of the one that is."""
    with _service() as service:
        made = service.activate(collection, id)
    out.print(f"The calibration {made.id} is active now.")


@calibrations_cli.command("deactivate")
def deactivate_calibration(id: IdArgument, collection: CollectionOption) -> None:
    """Let score be raw again, if this calibration is the active one."""
    with _service() as service:
        made = service.deactivate(collection, id)
    out.print(f"The calibration {made.id} is not active.")


@calibrations_cli.command("delete")
def delete_calibration(id: IdArgument, collection: CollectionOption) -> None:
    """Delete a calibration that is not active; thresholds that were set under it keep meaning the same hits."""
    with _service() as service:
        service.delete(collection, id)
    out.print(f"The calibration {one_line(id)} is deleted.", markup=False)


@contextmanager
def _service() -> Iterator["ThresholdService"]:
    from app.composition import Services

    settings = Settings()
    with checked_store(settings) as store:
        yield Services(settings, store).thresholds


def _as_json(made: "Calibration") -> dict[str, object]:
    return {
        "id": made.id,
        "mode": made.mode,
        "active": made.active,
        "method": made.method,
        "labels": made.labels,
        "note": made.note,
        "created_at": made.created_at.isoformat().replace("+00:00", "Z"),
    }
