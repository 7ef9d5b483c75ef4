"""``spanseek collections``: create, list, show and delete collections."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from app.answers import json_values
from app.cli.console import JsonOption, counted, err, open_services, out, print_json
from app.cli.options import RecipeChoice, with_options
from indexer.errors import CollectionDamaged

if TYPE_CHECKING:
    from app.collections.answers import CollectionDescription
    from app.collections.service import CollectionService

collections_cli = typer.Typer(help="Create, list, show and delete collections.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(help="The collection's name.")]


@collections_cli.command("create")
@with_options(recipe=("representations",))
def create_collection(
    name: NameArgument,
    recipe: RecipeChoice = RecipeChoice(),
    as_json: JsonOption = False,
) -> None:
    """Create an empty collection; an existing one of the same recipe stays as it is."""
    from app.collections.answers import CollectionDescription
    from app.collections.service import CollectionService

    with open_services(create=True) as services:
        created = services.get(CollectionService).create(name, recipe.options())
    if as_json:
        print_json(json_values(CollectionDescription.of(created.collection)))
    else:
        out.print(f"The collection {name} {'is created' if created.is_new else 'exists already'}.")


@collections_cli.command("list")
def list_collections(as_json: JsonOption = False) -> None:
    """List the collections."""
    from app.collections.service import CollectionService

    with open_services() as services:
        answer = services.get(CollectionService).list()
    if as_json:
        print_json(json_values(answer))
    else:
        _show(answer.collections)
        for sentence in answer.damaged or ():
            err.print(sentence, style="red", markup=False, soft_wrap=True)


@collections_cli.command("show")
def show_collection(name: NameArgument, as_json: JsonOption = False) -> None:
    """Show how a collection was made and what it holds."""
    from app.collections.service import CollectionService

    with open_services() as services:
        description = services.get(CollectionService).describe(name)
    values = json_values(description)
    if as_json:
        print_json(values)
        return
    spans = description.span_units
    words = {
        "span_units": f"{spans.shortest} to {spans.longest}",
        "representations": ", ".join(description.representations),
    }
    for field, value in (values | words).items():
        out.print(f"{field:16s} {_plain(value)}", soft_wrap=True, markup=False)


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


@collections_cli.command("delete")
def delete_collection(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete a collection with its documents, phrases, matches, thresholds and calibrations."""
    from app.collections.service import CollectionService

    with open_services() as services:
        if not yes:
            held = _contents(services.get(CollectionService), name)
            typer.confirm(f"Delete {name} with {held}?", abort=True, err=True)
        deleted = services.get(CollectionService).delete(name)
    if as_json:
        print_json(json_values(deleted))
    else:
        out.print(f"The collection {name} is deleted.")


def _contents(service: "CollectionService", name: str) -> str:
    try:
        return counted(service.describe(name).documents, "document")
    except CollectionDamaged:
        return "all that it holds"


def _show(collections: Sequence["CollectionDescription"]) -> None:
    table = Table("collection", "documents", "units", "segments", "MB", "generation", "encoder")
    for each in collections:
        counts = [f"{count:,}" for count in (each.documents, each.units, each.segments or 0)]
        table.add_row(each.name, *counts, f"{(each.bytes or 0) / 10**6:,.1f}", f"{each.generation:,}", each.encoder)
    out.print(table if collections else "There is no collection yet. Create one with: spanseek collections create")
