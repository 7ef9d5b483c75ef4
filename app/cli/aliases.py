"""``spanseek aliases``: list, set and delete names that stand for collections."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.answers import json_values
from app.cli.console import JsonOption, open_services, out, print_json

if TYPE_CHECKING:
    from app.services import Services

aliases_cli = typer.Typer(help="Names that stand for collections.", no_args_is_help=True)


@aliases_cli.command("list")
def list_aliases(as_json: JsonOption = False) -> None:
    """List the aliases, and the collections that they name."""
    with open_services() as services:
        _show(services, as_json=as_json)


@aliases_cli.command("set")
def set_aliases(
    targets: Annotated[list[str], typer.Argument(help="ALIAS=COLLECTION; several change at one moment.")],
    as_json: JsonOption = False,
) -> None:
    """Let aliases name collections, from the next search on; several change in one transaction."""
    from app.collections.aliases import AliasService

    with open_services() as services:
        services.get(AliasService).set(dict(map(_pair, targets)))
        _show(services, as_json=as_json)


@aliases_cli.command("delete")
def delete_aliases(
    names: Annotated[list[str], typer.Argument(help="The aliases.")],
    as_json: JsonOption = False,
) -> None:
    """Delete aliases. The collections stay."""
    from app.collections.aliases import AliasService

    with open_services() as services:
        services.get(AliasService).set(dict.fromkeys(names))
        _show(services, as_json=as_json)


def _pair(text: str) -> tuple[str, str]:
    name, equals, collection = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not ALIAS=COLLECTION, such as live=calls")
    return name, collection


def _show(services: "Services", *, as_json: bool) -> None:
    from app.collections.aliases import AliasService

    answer = services.get(AliasService).list()
    if as_json:
        print_json(json_values(answer))
        return
    for alias in answer.aliases:
        out.print(f"{alias.name} -> {alias.collection}")
    if not answer.aliases:
        out.print("There is no alias.")
