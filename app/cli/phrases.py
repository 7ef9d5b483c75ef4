"""``spanseek phrases``: save phrases, and read their matches in new documents."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from app.answers import json_values
from app.cli.console import (
    CollectionOption,
    JsonOption,
    checked_store,
    counted,
    err,
    one_line,
    open_services,
    out,
    print_json,
)
from app.cli.options import number_or_word, with_options
from app.cli.progress import stop_on_interrupt
from indexer.engine.query import Filter
from indexer.filters.strings import printed
from indexer.tuning import ThresholdOn
from models.errors import InvalidInput

if TYPE_CHECKING:
    from app.phrases.answers import EventPage, ImportedPhrase
    from indexer.indexing.matching import Rematched
    from indexer.phrases import Phrase

phrases_cli = typer.Typer(help="Saved phrases, matched against every new document.", no_args_is_help=True)
BackfillOption = Annotated[
    bool,
    typer.Option(
        "--backfill/--no-backfill",
        help="Also match documents that are already indexed, at once, or by the server while others write.",
    ),
]
ThresholdOption = Annotated[
    Any,
    number_or_word(
        "auto",
        option=typer.Option(
            help="Minimum similarity of a match, 0 to 1, or `auto`: likely ones alone; else the collection's."
        ),
    ),
]
TagOption = Annotated[list[str] | None, typer.Option(help="A group that it belongs to; repeat for several.")]
# Seconds between two looks at what arrives.
_FOLLOWED_S = 1.0


@phrases_cli.command("add")
@with_options()
def add_phrase(
    text: Annotated[str, typer.Argument(help="The origin phrase.")],
    collection: CollectionOption,
    name: Annotated[
        str | None, typer.Option(help="The phrase's name, up to 200 characters without `/`; by default its text.")
    ] = None,
    threshold: ThresholdOption = None,
    threshold_on: Annotated[ThresholdOn, typer.Option(help="The scale of the threshold.")] = "score",
    filter: Filter = Filter(),
    note: Annotated[str, typer.Option(help="A note, stored with the phrase.")] = "",
    tag: TagOption = None,
    paused: Annotated[bool, typer.Option("--paused", help="Save it without matching it.")] = False,
    likely_only: Annotated[
        bool, typer.Option("--likely-only", help="Leave out matches that the second look does not call likely.")
    ] = False,
    backfill: BackfillOption = True,
    as_json: JsonOption = False,
) -> None:
    """Save a phrase, to be matched against the documents that are there, and every new or changed one."""
    from app.tasks.backfilling import Backfilling
    from indexer.catalog.names import checked_tags
    from indexer.phrases import PhraseDraft

    tags = checked_tags(tag or ())
    draft = PhraseDraft(name or text, text, threshold, threshold_on, filter, note, tags, paused, likely_only)
    with open_services() as services:
        phrase = services.get(Backfilling).unhurried().add(collection, draft, backfill=backfill)
    if as_json:
        print_json(json_values(phrase))
        return
    out.print(f"The phrase {one_line(phrase.name)} is saved.", markup=False, soft_wrap=True)
    _show_backfill(phrase.rematched, phrase.task)
    if phrase.applies.value is None:
        err.print("Neither the phrase nor the collection has a threshold: it matches nothing yet.", style="yellow")


@phrases_cli.command("change")
@with_options()
def change_phrase(
    name: Annotated[str, typer.Argument(help="The phrase's name.")],
    collection: CollectionOption,
    text: Annotated[str | None, typer.Option(help="A new origin phrase.")] = None,
    filter: Filter = Filter(),
    no_filter: Annotated[bool, typer.Option("--no-filter", help="Without the filter that it has.")] = False,
    note: Annotated[str | None, typer.Option(help="A new note.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help='Tags, in the place of all that it has; repeat; "" for none.')
    ] = None,
    paused: Annotated[
        bool | None, typer.Option("--pause/--resume", help="Match it no longer, or again; its matches stay.")
    ] = None,
    likely_only: Annotated[
        bool | None,
        typer.Option("--likely-only/--no-likely-only", help="Leave out matches that are not likely, or keep them."),
    ] = None,
    backfill: BackfillOption = True,
    as_json: JsonOption = False,
) -> None:
    """Change a phrase. If its text, its filter or likely_only changes, its matches are withdrawn, and found anew."""
    from app.tasks.backfilling import Backfilling
    from indexer.catalog.names import checked_tags
    from indexer.phrases import PhraseChanges

    tags = None if tag is None else checked_tags([each for each in tag if each])
    with open_services() as services:
        changes = PhraseChanges(text, filter if filter or no_filter else None, note, tags, paused, likely_only)
        phrase = services.get(Backfilling).unhurried().change(collection, name, changes, backfill=backfill)
    if as_json:
        print_json(json_values(phrase))
        return
    out.print(f"The phrase {one_line(phrase.name)} is changed.", markup=False, soft_wrap=True)
    _show_backfill(phrase.rematched, phrase.task)


@phrases_cli.command("list")
def list_phrases(
    collection: CollectionOption,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only phrases with this tag; repeat for any of several.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the saved phrases and their thresholds."""
    from app.phrases.answers import PhraseDescription
    from indexer.catalog.phrases import list_phrases as listed

    with checked_store() as store:
        phrases: list[Phrase] = []
        while page := listed(store.catalog, collection, 1000, phrases[-1].name if phrases else "", tag or ()):
            phrases += page
    if as_json:
        print_json([json_values(PhraseDescription.of(phrase)) for phrase in phrases])
        return
    table = Table("name", "text", "threshold", "filter", "tags", "note")
    for phrase in phrases:
        threshold = "paused" if phrase.paused else _threshold(phrase)
        if phrase.likely_only:
            threshold += ", likely ones"
        cells = (phrase.name, phrase.text, threshold, _filter(phrase), ", ".join(phrase.tags), phrase.note)
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    tags = f" with tag {one_line(' or '.join(tag))}" if tag else ""
    out.print(table if phrases else Text(f"{collection} has no saved phrases{tags}."))


@phrases_cli.command("remove")
def remove_phrases(
    names: Annotated[list[str], typer.Argument(help="Names of phrases.")],
    collection: CollectionOption,
    as_json: JsonOption = False,
) -> None:
    """Delete phrases and their thresholds; their matches are withdrawn."""
    from indexer.catalog.phrases import delete_phrases

    with checked_store() as store:
        deleted = delete_phrases(store.catalog, collection, names)
    missing = sorted(set(names) - deleted)
    if as_json:
        print_json({"deleted": len(deleted), "not_found": missing})
    else:
        out.print(f"{counted(len(deleted), 'phrase')} deleted from {collection}; {len(missing):,} not found.")


@phrases_cli.command("import")
def import_phrases(
    file: Annotated[Path, typer.Argument(help="NDJSON file with one phrase per line.")],
    collection: CollectionOption,
    backfill: BackfillOption = True,
    as_json: JsonOption = False,
) -> None:
    """Save or replace phrases from a file. Errors are reported per line; valid lines are still imported."""
    from app.phrases.parsing import phrases_from_lines
    from app.tasks.backfilling import Backfilling

    try:
        lines = list(phrases_from_lines(file.read_bytes()))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error}", hint="Give an NDJSON file.", field="file") from error
    with open_services() as services:
        imported = services.get(Backfilling).unhurried().put(collection, lines, backfill=backfill)
    states = [result.status for result in imported.results]
    if as_json:
        print_json(json_values(imported))
    else:
        _show_imported(imported.results)
        _show_backfill(imported.rematched, imported.task)
    if states and set(states) == {"failed"}:
        raise typer.Exit(1)


@phrases_cli.command("matches")
def read_matches(
    collection: CollectionOption,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the last call; without it, all events.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of events.")] = 100,
    phrase: Annotated[list[str] | None, typer.Option(help="Only this phrase; repeat for several.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only phrases with this tag; repeat for any of several.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with what arrives, until Ctrl-C; with --json one event a line.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Read new and withdrawn matches since a cursor."""
    from app.phrases.service import PhraseService
    from indexer.phrases import EventFilter

    filter = EventFilter(tuple(phrase or ()), tuple(tag or ()))
    with open_services() as services:
        page = services.get(PhraseService).events(collection, limit, cursor, filter)
        if follow:
            with stop_on_interrupt("Stopping.") as stop:
                _show_followed(page, as_json=as_json)
                while not stop.wait(0 if page.more else _FOLLOWED_S):
                    page = services.get(PhraseService).events(collection, limit, page.cursor, filter)
                    _show_followed(page, as_json=as_json)
            err.print(f"Continue with --cursor {page.cursor}", style="dim", soft_wrap=True)
            raise typer.Exit(130)
    if as_json:
        print_json(json_values(page))
    else:
        _show(page)


def _show_backfill(rematched: "Rematched | None", task: str | None) -> None:
    if rematched is not None:
        matches = counted(rematched.added, "match") if rematched.added == 1 else f"{rematched.added:,} matches"
        out.print(f"{matches} in the documents that are there.", soft_wrap=True)
    if task is not None:
        out.print(f"The server matches the documents that are there when others have written: task {task}.")


def _show_imported(results: Sequence["ImportedPhrase"]) -> None:
    for result in results:
        if result.error is not None:
            name = f"{result.name}: " if result.name else ""
            err.print(one_line(f"{name}{result.error.detail}"), markup=False, soft_wrap=True)
    states = [result.status for result in results]
    failed = states.count("failed")
    counts = ", ".join(f"{states.count(state):,} {state}" for state in ("created", "changed", "unchanged"))
    out.print(f"{counted(len(states) - failed, 'phrase')} saved ({counts}); {counted(failed, 'line')} refused.")


def _show_followed(page: "EventPage", *, as_json: bool) -> None:
    if not as_json:
        _show_events(page)
    for event in page.events if as_json else ():
        print_json(json_values(event))
    out.file.flush()


def _show(page: "EventPage") -> None:
    _show_events(page)
    more = " There are more." if page.more else ""
    out.print(
        f"{counted(len(page.events), 'event')}.{more} Continue with --cursor {page.cursor}", style="dim", soft_wrap=True
    )


def _show_events(page: "EventPage") -> None:
    for event in page.events:
        place = f"  {one_line(event.document_id)}  [{event.start}, {event.end})"
        place += "  exact" if event.exact else ""
        detail = one_line(event.text or "") if event.event == "matched" else f"withdrawn: {event.reason}"
        score = (f"{event.score:.3f}", "bold green" if event.event == "matched" else "dim")
        verdict = "" if event.verdict is None else f"  {event.verdict}"
        out.print(Text.assemble(score, verdict, f"  {one_line(event.phrase)}", place, "  ", detail), soft_wrap=True)


def _threshold(phrase: "Phrase") -> str:
    applied = phrase.threshold
    if applied is None:
        return "none"
    return f"{applied.value:.3f} on {applied.on}" + ("" if phrase.own.threshold else " (collection's)")


def _filter(phrase: "Phrase") -> str:
    pairs = [*phrase.filter.document.items(), *((f"part.{key}", value) for key, value in phrase.filter.part.items())]
    expression = phrase.filter.expression
    return ", ".join([*(f"{key}={value}" for key, value in pairs), *([printed(expression)] if expression else ())])
