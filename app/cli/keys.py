"""``spanseek keys``: create, list and revoke API keys."""

from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.table import Table
from rich.text import Text

from app.cli.console import JsonOption, checked_store, out, print_json
from app.settings import Settings

if TYPE_CHECKING:
    from indexer.catalog.keys import Key, Scope

keys_cli = typer.Typer(help="API keys: who may search, index and administer.", no_args_is_help=True)


@keys_cli.command("create")
def create_key(
    name: Annotated[str, typer.Option(help="What the key is for.")],
    scope: Annotated[list[str], typer.Option(help="search, index or admin; repeat for several.")],
    collection: Annotated[list[str] | None, typer.Option(help="Only these collections; repeat for several.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create an API key. It is shown once and stored as a hash."""
    from indexer.catalog import keys

    with checked_store(Settings(), create=True) as store:
        key, token = keys.create_key(store.catalog, name, cast("list[Scope]", scope), collection)
    if as_json:
        print_json({"id": key.id, "token": token})
    else:
        out.print(f"Key {key.id}. Send it as `Authorization: Bearer ...`; it cannot be shown again:")
        out.print(token, soft_wrap=True, markup=False)


@keys_cli.command("list")
def list_keys(as_json: JsonOption = False) -> None:
    """List the API keys, without their secrets."""
    from indexer.catalog import keys

    with checked_store(Settings()) as store:
        listed = keys.list_keys(store.catalog)
    if as_json:
        print_json([_key_facts(key) for key in listed])
        return
    table = Table("id", "name", "scopes", "collections", "created", "revoked")
    for key in listed:
        table.add_row(*(Text(value) for value in _key_facts(key).values()))
    out.print(table if listed else "There are no keys: the server answers without a key, on loopback only.")


def _key_facts(key: "Key") -> dict[str, str]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": ", ".join(key.scopes),
        "collections": "all" if key.collections is None else ", ".join(key.collections),
        "created": key.created_at.isoformat(timespec="seconds"),
        "revoked": key.revoked_at.isoformat(timespec="seconds") if key.revoked_at else "",
    }


@keys_cli.command("revoke")
def revoke_key(key_id: Annotated[str, typer.Argument(help="The key's id, as listed.")]) -> None:
    """Revoke an API key from the next request on."""
    from indexer.catalog import keys

    with checked_store(Settings()) as store:
        keys.revoke_key(store.catalog, key_id)
    out.print(f"Key {key_id} is revoked.")
