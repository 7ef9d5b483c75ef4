"""``spanseek snapshot``: make, list, verify and restore snapshots of collections."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, counted, open_services, out, print_json
from app.cli.progress import bytes_progress

if TYPE_CHECKING:
    from app.collections.snapshots import SnapshotDescription

snapshot_cli = typer.Typer(help="Snapshots: one file that holds a collection.", no_args_is_help=True)
FileArgument = Annotated[Path, typer.Argument(help="The file of a snapshot.")]


@snapshot_cli.command("create")
def create_snapshot(
    collection: CollectionOption,
    path: Annotated[Path | None, typer.Option("--out", help="A new file; without it one in the data folder.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a collection to one file, while others search and write."""
    from app.collections.snapshots import SnapshotService

    if path is not None and path.exists():
        raise typer.BadParameter(f"{path} exists; name a new file.", param_hint="--out")
    with open_services() as services, bytes_progress("Writing") as progress:
        made = services.get(SnapshotService).create(collection, path, progress=progress)
        written = path or services.get(SnapshotService).path(collection, made.id)
    if as_json:
        print_json(json_values(made) | {"file": str(written)})
    else:
        out.print(f"{_text(made)} written to {written}.", markup=False, soft_wrap=True)


@snapshot_cli.command("list")
def list_snapshots(collection: CollectionOption, as_json: JsonOption = False) -> None:
    """List the snapshots of a collection in the data folder, the newest first."""
    from app.collections.snapshots import SnapshotService

    with open_services() as services:
        listed = services.get(SnapshotService).list(collection)
    if as_json:
        print_json(json_values(listed))
        return
    for each in listed.snapshots:
        out.print(f"{each.id}  {each.created_at:%Y-%m-%d %H:%M}  {_text(each)}", markup=False, soft_wrap=True)
    if not listed.snapshots:
        out.print("There is no snapshot.")


@snapshot_cli.command("verify")
def verify_snapshot(file: FileArgument, as_json: JsonOption = False) -> None:
    """Compare everything in a snapshot with its checksums."""
    from app.collections.snapshots import SnapshotDescription
    from indexer.archives.archive import check_archive

    with bytes_progress("Reading") as progress:
        checked = SnapshotDescription.of(file, check_archive(file, progress))
    if as_json:
        print_json(json_values(checked))
    else:
        out.print(f"{_text(checked)} of {checked.collection}: no damage.", markup=False, soft_wrap=True)


@snapshot_cli.command("restore")
def restore_snapshot(
    file: FileArgument,
    name: Annotated[str | None, typer.Option(help="Name of the new collection; without it the snapshot's.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Restore a snapshot as a new collection, with its thresholds, phrases and calibrations."""
    from app.collections.snapshots import SnapshotService

    with open_services(create=True) as services, bytes_progress("Restoring") as progress:
        restored = services.get(SnapshotService).restore(file, name, progress)
    if as_json:
        print_json({"collection": restored.name, "documents": restored.documents, "units": restored.units})
    else:
        out.print(f"{counted(restored.documents, 'document')} restored as {restored.name}.", soft_wrap=True)


def _text(made: "SnapshotDescription") -> str:
    return f"{counted(made.documents, 'document')}, generation {made.generation}, {made.bytes / 10**6:,.1f} MB"
