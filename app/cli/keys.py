"""``spanseek keys``: create, list and revoke API keys."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, cast

import typer

from app.cli.console import JsonOption, checked_store, one_line, out, print_json
from models.errors import InvalidInput

if TYPE_CHECKING:
    from indexer.catalog.keys import Key, Scope

keys_cli = typer.Typer(help="API keys: who may search, index and administer.", no_args_is_help=True)


@keys_cli.command("create")
def create_key(
    name: Annotated[str, typer.Option(help="What the key is for.")],
    scope: Annotated[list[str], typer.Option(help="`search`, `index` or `admin`; repeat for several.")],
    collection: Annotated[
        list[str] | None, typer.Option(help="Only these collections; all without it; repeat for several.")
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            help="When it ceases to be valid: `90d`, `12h`, or a date such as `2030-01-31`, in UTC; never without it."
        ),
    ] = None,
    rate: Annotated[int | None, typer.Option(help="Most requests a minute, for each server process.")] = None,
    filter: Annotated[
        str | None,
        typer.Option(
            metavar="EXPRESSION",
            help='What holds of every document that it may know of, such as `tenant = "acme"` or '
            '`document.id starts with "acme/"`.',
        ),
    ] = None,
    if_none: Annotated[
        bool, typer.Option("--if-none", help="Do nothing if there is a key already, even a revoked one.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Create an API key. It is shown once and stored as a hash."""
    from indexer.catalog import keys

    with checked_store(create=True) as store:
        if if_none and keys.any_keys(store.catalog):
            out.print("There is a key already: none was created.")
            return
        expires_at = None if expires is None else _expiry(expires, store.catalog.clock())
        key, token = keys.create_key(
            store.catalog, name, cast("list[Scope]", scope), collection, expires_at=expires_at, rate=rate, filter=filter
        )
    if as_json:
        print_json({"id": key.id, "token": token})
    else:
        out.print(f"Key {key.id}. Send it as `Authorization: Bearer ...`; it cannot be shown again:")
        out.print(token, soft_wrap=True, markup=False)


@keys_cli.command("list")
def list_keys(as_json: JsonOption = False) -> None:
    """List the API keys, without their secrets."""
    from indexer.catalog import keys

    with checked_store() as store:
        listed = keys.list_keys(store.catalog)
    if as_json:
        print_json([_key_facts(key) for key in listed])
        return
    for key in listed:
        out.print(_line(key), markup=False, soft_wrap=True)
    if not listed:
        out.print("There are no keys: the server answers without a key, on loopback only.")


def _line(key: "Key") -> str:
    """A key on one line: who it is for, what it may do, and the days of its life."""
    facts = _key_facts(key)
    days = [f"{words} {facts[name][:10]}" for name, words in _DAYS.items() if facts[name]]
    rate = [f"{key.rate:,} requests a minute"] if key.rate is not None else []
    collections = "all collections" if key.collections is None else facts["collections"]
    filter = [f"where {one_line(facts['filter'])}"] if key.filter is not None else []
    limits = ", ".join([*days, *rate, *filter])
    return f"{key.id}  {one_line(key.name)}  {facts['scopes']}  {collections}  {limits}"


_DAYS = {"created": "created", "revoked": "revoked", "expires": "expires", "last_used": "last used"}


def _key_facts(key: "Key") -> dict[str, str]:
    from indexer.filters.strings import printed

    return {
        "id": key.id,
        "name": key.name,
        "scopes": ", ".join(key.scopes),
        "collections": "all" if key.collections is None else ", ".join(key.collections),
        "created": _time(key.created_at),
        "revoked": _time(key.revoked_at),
        "expires": _time(key.expires_at),
        "rate": "" if key.rate is None else str(key.rate),
        "last_used": _time(key.last_used_at),
        "filter": "" if key.filter is None else printed(key.filter),
    }


def _time(moment: datetime | None) -> str:
    return moment.isoformat(timespec="seconds") if moment else ""


def _expiry(text: str, now: datetime) -> datetime:
    """The time that a lifetime or a date stands for.

    >>> _expiry("90d", datetime(2030, 1, 1, tzinfo=UTC)).isoformat()
    '2030-04-01T00:00:00+00:00'
    >>> _expiry("2030-01-31", datetime(2030, 1, 1, tzinfo=UTC)).isoformat()
    '2030-01-31T00:00:00+00:00'
    """
    try:
        if lifetime := re.fullmatch("([0-9]+)([dh])", text):
            return now + timedelta(**{{"d": "days", "h": "hours"}[lifetime[2]]: int(lifetime[1])})
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{text!r} is no time at which a key can expire.",
            hint="Write a lifetime, such as 90d or 12h, or a date, such as 2030-01-31.",
            field="expires",
        ) from error


@keys_cli.command("revoke")
def revoke_key(key_id: Annotated[str, typer.Argument(help="The key's id, as listed.")]) -> None:
    """Revoke an API key from the next request on."""
    from indexer.catalog import keys

    with checked_store() as store:
        keys.revoke_key(store.catalog, key_id)
    out.print(f"Key {key_id} is revoked.")
