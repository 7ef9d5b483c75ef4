"""``spanseek webhooks``: addresses that a server tells of matches and of ended tasks."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, err, one_line, open_services, out, print_json

if TYPE_CHECKING:
    from spanseek_webhooks.answers import WebhookDescription

webhooks_cli = typer.Typer(
    help="Addresses that are told of matches and of ended tasks.", no_args_is_help=True, rich_help_panel="Search"
)
IdArgument = Annotated[str, typer.Argument(help="The webhook's id.")]
NumberArgument = Annotated[int, typer.Argument(min=1, help="The dead letter's number.")]
PhraseOption = Annotated[
    list[str] | None, typer.Option(help="Only the matches of this phrase; repeat for several. Without any, of all.")
]
TagOption = Annotated[
    list[str] | None, typer.Option(help="Only the matches of phrases with this tag; repeat for any of several.")
]


@webhooks_cli.command("add")
def add_webhook(
    url: Annotated[str, typer.Argument(help="Where deliveries are sent: an https:// URL of a public address.")],
    collection: CollectionOption,
    matches: Annotated[
        bool, typer.Option("--matches/--no-matches", help="Send matches, and their withdrawals.")
    ] = True,
    tasks: Annotated[bool, typer.Option("--tasks/--no-tasks", help="Send the ends of tasks.")] = True,
    phrase: PhraseOption = None,
    tag: TagOption = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Also send the matches that are there.")
    ] = False,
    note: Annotated[str, typer.Option(help="A note, stored with the webhook.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Make a webhook, and show the secret of its signatures, which is never shown again."""
    from indexer.phrases import EventFilter
    from spanseek_webhooks.rows import WebhookDraft
    from spanseek_webhooks.service import WebhookService

    filter = EventFilter(tuple(phrase or ()), tuple(tag or ()))
    with open_services() as services:
        draft = WebhookDraft(url, matches, tasks, filter, note, from_beginning=from_beginning)
        _show_secret(services.get(WebhookService).create(collection, draft), as_json=as_json)


@webhooks_cli.command("list")
def list_webhooks(collection: CollectionOption, as_json: JsonOption = False) -> None:
    """List the webhooks of a collection, and whether they fail."""
    from spanseek_webhooks.service import WebhookService

    with open_services() as services:
        listed = services.get(WebhookService).list(collection)
    if as_json:
        print_json(json_values(listed))
        return
    for webhook in listed.webhooks:
        _show(webhook)
    if not listed.webhooks:
        out.print(f"{collection} has no webhook.")


@webhooks_cli.command("change")
def change_webhook(
    id: IdArgument,
    collection: CollectionOption,
    url: Annotated[str | None, typer.Option(help="A new URL.")] = None,
    matches: Annotated[bool | None, typer.Option("--matches/--no-matches", help="Whether matches are sent.")] = None,
    tasks: Annotated[
        bool | None, typer.Option("--tasks/--no-tasks", help="Whether the ends of tasks are sent.")
    ] = None,
    phrase: PhraseOption = None,
    tag: TagOption = None,
    paused: Annotated[
        bool | None, typer.Option("--pause/--resume", help="Send nothing for now, or what happened meanwhile.")
    ] = None,
    note: Annotated[str | None, typer.Option(help="A new note.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Change a webhook. What it could not deliver is tried again at once. A blank phrase or tag stands for all."""
    from spanseek_webhooks.rows import WebhookChanges
    from spanseek_webhooks.service import WebhookService

    phrases, tags = (None if values is None else tuple(filter(None, values)) for values in (phrase, tag))
    with open_services() as services:
        changed = services.get(WebhookService).change(
            collection, id, WebhookChanges(url, matches, tasks, phrases, tags, note, paused)
        )
    if as_json:
        print_json(json_values(changed))
    else:
        _show(changed)


@webhooks_cli.command("secret")
def renew_secret(id: IdArgument, collection: CollectionOption, as_json: JsonOption = False) -> None:
    """Make a new secret, for all deliveries from now on."""
    from spanseek_webhooks.service import WebhookService

    with open_services() as services:
        _show_secret(services.get(WebhookService).renew_secret(collection, id), as_json=as_json)


@webhooks_cli.command("delete")
def delete_webhook(id: IdArgument, collection: CollectionOption) -> None:
    """Delete a webhook, with its dead letters."""
    from spanseek_webhooks.service import WebhookService

    with open_services() as services:
        services.get(WebhookService).delete(collection, id)
    out.print(f"The webhook {id} is deleted.", markup=False)


@webhooks_cli.command("dead-letters")
def list_dead_letters(
    id: IdArgument,
    collection: CollectionOption,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of dead letters.")] = 100,
    after: Annotated[int, typer.Option(min=0, help="The number of the last one of the page before.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """List the deliveries that failed for too long, the oldest first."""
    from spanseek_webhooks.service import WebhookService

    with open_services() as services:
        page = services.get(WebhookService).dead_letters(collection, id, limit, after)
    if as_json:
        print_json(json_values(page))
        return
    for letter in page.dead_letters:
        why = "" if letter.error is None else f"  {letter.error.code}: {one_line(letter.error.detail)}"
        out.print(
            f"{letter.number}  {letter.kind}  {letter.at:%Y-%m-%d %H:%M:%S} UTC{why}", soft_wrap=True, markup=False
        )
    if not page.dead_letters:
        out.print("There is no dead letter.")
    if page.more:
        out.print(f"The next page: --after {page.dead_letters[-1].number}")


@webhooks_cli.command("send")
def send_again(id: IdArgument, number: NumberArgument, collection: CollectionOption) -> None:
    """Let the server send a dead letter again, before anything else."""
    from spanseek_webhooks.service import WebhookService

    with open_services() as services:
        services.get(WebhookService).send_again(collection, id, number)
    out.print(f"The server sends the dead letter {number} again.")


@webhooks_cli.command("discard")
def discard(id: IdArgument, number: NumberArgument, collection: CollectionOption) -> None:
    """Delete a dead letter: it is never sent."""
    from spanseek_webhooks.service import WebhookService

    with open_services() as services:
        services.get(WebhookService).delete_letter(collection, id, number)
    out.print(f"The dead letter {number} is deleted.")


def _show(webhook: "WebhookDescription") -> None:
    kinds = " and ".join(name for name in ("matches", "tasks") if getattr(webhook, name))
    limits = ", ".join([*webhook.phrases, *(f"tag {tag}" for tag in webhook.tags)])
    dead = f"  dead letters: {webhook.dead_letters:,}" if webhook.dead_letters else ""
    line = (
        f"{webhook.id}  {webhook.url}  {kinds}{f' of {limits}' if limits else ''}{'  paused' if webhook.paused else ''}"
    )
    out.print(one_line(line + dead), soft_wrap=True, markup=False)
    if webhook.failing is not None:
        failing = webhook.failing
        told = f"  fails since {failing.since:%Y-%m-%d %H:%M:%S} UTC: {failing.error.detail}"
        err.print(one_line(told), style="yellow", soft_wrap=True, markup=False)


def _show_secret(webhook: "WebhookDescription", *, as_json: bool) -> None:
    if as_json:
        print_json(json_values(webhook))
        return
    _show(webhook)
    out.print(f"Its secret, which is not shown again: {webhook.secret}", soft_wrap=True, markup=False)
