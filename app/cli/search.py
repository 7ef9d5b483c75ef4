"""``spanseek search``: hits highlighted in their context, or the answer as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from app.answers import json_values
from app.cli.console import JsonOption, counted, err, marked, one_line, open_services, out, print_json
from app.cli.counts import counts_table
from app.cli.exporting import FILES, check_new_file, write_hits
from app.cli.options import SHOWN_CONTEXT, ContextOption, with_options
from app.requests import (
    MAX_EXPORT,
    MAX_JUDGED,
    Arrangement,
    Continued,
    Counting,
    PageRequest,
    SearchRequest,
    with_verification,
)
from app.search.answers import (
    Arranged,
    CollectionsAnswer,
    ExportEnd,
    Filtered,
    Hit,
    LikelyMatches,
    SearchAnswer,
    Total,
    UsedThreshold,
)
from models.fields import converted

if TYPE_CHECKING:
    from app.search.mode import HitUnit

# Options that all hits, which are written to a file, do not have.
_OF_PAGES = ("top_k", "offset", "total", "estimate", "verify")
# Characters shown of a document.
_OPENING = 160


@with_options(page=("text", "vector", "query_units", "offset_unit", "context"))
def search(
    phrase: Annotated[str, typer.Argument(help="The origin phrase.")],
    collection: Annotated[
        list[str], typer.Option("--collection", "-c", help="A collection; repeat for several of one encoder.")
    ],
    page: PageRequest,
    arrangement: Arrangement,
    counting: Counting,
    continued: Continued,
    path: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write all hits of one collection, up to 100,000, to this new file: `.ndjson`, `.csv`, `.xlsx` or "
            "`.parquet`.",
        ),
    ] = None,
    context: ContextOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find spans that mean the same as a phrase; in mode maxsim documents, in mode lexical its words."""
    from app.search.export import export
    from app.search.federated import search_several
    from app.search.service import SearchService

    if path is not None:
        check_new_file(path, tuple(FILES))
        _check_written(collection, page, counting)
    if len(collection) > 1 and (not arrangement.is_plain or counting.counts or continued.cursor):
        raise typer.BadParameter("Hits of several collections are neither arranged nor counted, and have no --cursor.")
    own = asdict(arrangement) | asdict(counting) | asdict(continued)
    request = with_verification(
        converted(page, SearchRequest, collection=collection[0], text=phrase, context=context or 0, **own)
    )
    with open_services() as services:
        service = services.get(SearchService)
        unit = service.modes[request.mode].presented.unit
        if path is not None:
            limit = MAX_JUDGED if request.likely else MAX_EXPORT
            _written(path, write_hits(path, export(service, request, limit)), limit, as_json)
            return
        if context is None and unit == "span" and not as_json:
            request = replace(request, context=SHOWN_CONTEXT)
        several = len(collection) > 1
        answer = search_several(service, request, collection) if several else service.search(request)[0]
    if as_json:
        print_json(json_values(answer))
    elif isinstance(answer, SearchAnswer):
        _show(answer, unit)
    else:
        _show_several(answer, unit)


def _check_written(collection: Sequence[str], page: PageRequest, counting: Counting) -> None:
    """Refuse options that an export does not have."""
    is_page = any(getattr(page, name) != getattr(PageRequest, name) for name in _OF_PAGES)
    if len(collection) > 1 or is_page or counting.counts:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in _OF_PAGES)
        raise typer.BadParameter(f"All hits of one collection are written: no --counts, {names}.")


def show_hits(hits: Iterable[Hit], console: Console, unit: "HitUnit" = "span") -> None:
    """Print each hit in its context; of a document its opening."""
    for hit in hits:
        of = f"  {one_line(hit.collection)}" if hit.collection else ""
        place = f"{of}  {one_line(hit.document_id)}  [{hit.start}, {hit.end})"
        restored = f"restored, confidence {hit.confidence:.2f}" if hit.restored and hit.confidence is not None else None
        said = _verdict(hit)
        copies = f"{hit.copies:,} copies" if (hit.copies or 0) > 1 else None
        mark = "".join(f"  {word}" for word in (said, hit.match, hit.polarity, restored, copies) if word)
        console.print(Text.assemble((f"{hit.score:.3f}", "bold green"), place, (mark, "yellow")), soft_wrap=True)
        console.print(_opening(hit) if unit == "document" else _highlighted(hit, console), soft_wrap=True)
        for line in hit.explanation.lines() if hit.explanation else ():
            console.print(Text("       " + one_line(line), style="dim"), soft_wrap=True)


def _verdict(hit: Hit) -> str:
    """The verdict of the second look in words; empty without one."""
    if hit.verdict is None:
        return ""
    differs = f" in {', '.join(hit.differs)}" if hit.differs else ""
    return f"{hit.verdict}{differs} ({hit.probability:.2f})"


def _show(answer: SearchAnswer, unit: "HitUnit") -> None:
    _show_notes(answer.degraded, answer.filtered)
    if answer.notice:
        err.print(answer.notice, style="yellow", soft_wrap=True)
    if not answer.hits:
        out.print(f"No {unit} was found.")
    show_judged(answer.hits, bool(answer.verified), out, unit)
    for each in answer.counts or ():
        out.print(counts_table(each))
    if answer.likely:
        out.print(_likely_text(answer.likely))
    summary = f"{_hits_text(answer.hits, answer.total)}{_threshold_text(answer.threshold)} in {answer.took_ms:.0f} ms"
    out.print(f"{summary}, generation {answer.generation}.{_arranged_text(answer.arranged)}", style="dim")


def _arranged_text(arranged: Arranged | None) -> str:
    """The number of hits that the list was made of; empty if all are listed."""
    if arranged is None or (arranged.complete and arranged.hits == arranged.listed):
        return ""
    of = "" if arranged.complete else "the best "
    return f" {arranged.listed:,} listed of {of}{arranged.hits:,}."


def show_judged(hits: Iterable[Hit], verified: bool, console: Console, unit: "HitUnit" = "span") -> None:
    """Print the likely hits, and under lines of their own those less likely, and those that nobody has read."""
    hits = list(hits)
    likely = [hit for hit in hits if hit.verdict == "match"]
    others = [hit for hit in hits if hit.verdict not in (None, "match")]
    unread = [hit for hit in hits if hit.verdict is None]
    show_hits(likely, console, unit)
    if others:
        console.print("Less likely:" if likely else "No likely match. Nearest:", style="bold")
    show_hits(others, console, unit)
    if verified and unread:
        console.print("Not read by the second look:", style="bold")
    show_hits(unread, console, unit)


def _show_several(answer: CollectionsAnswer, unit: "HitUnit") -> None:
    for searched in answer.collections:
        _show_notes(searched.degraded, searched.filtered, f"{searched.name}: ")
    if not answer.hits:
        out.print(f"No {unit} was found.")
    show_judged(answer.hits, any(searched.verified for searched in answer.collections), out, unit)
    for searched in answer.collections:
        hits = [hit for hit in answer.hits if hit.collection == searched.name]
        text = f"{_hits_text(hits, searched.total)}{_threshold_text(searched.threshold)}"
        out.print(f"{searched.name}: {text}, generation {searched.generation}.", style="dim")


def _show_notes(degraded: Iterable[str] | None, filtered: Filtered | None, of: str = "") -> None:
    """Name damaged segments and keys of the filter that no document has."""
    for damage in degraded or ():
        err.print(f"{of}Not searched: {damage}", style="yellow", soft_wrap=True)
    if filtered is None:
        return
    for key in filtered.unknown_keys:
        err.print(f"{of}No document has the metadata {one_line(key)}.", style="yellow", soft_wrap=True, markup=False)
    err.print(f"{of}{filtered.documents:,} of {counted(filtered.of, 'document')} pass the filter.")


def _likely_text(likely: LikelyMatches) -> str:
    """The number of likely matches in the collection, and its interval if that is an estimate."""
    low, high = likely.interval
    if low == high:
        return f"{counted(likely.estimated, 'sentence')} of the collection likely say it."
    return f"About {counted(likely.estimated, 'sentence')} of the collection likely say it ({low:,} to {high:,})."


def _hits_text(hits: Sequence[Hit], total: Total | None) -> str:
    """The number of hits, and of all there are if they were counted."""
    if total is None:
        return counted(len(hits), "hit")
    spans = "" if total.spans is None else f"{counted(total.spans, 'span')} in "
    return f"{counted(len(hits), 'hit')} of {spans}{counted(total.documents, 'document')}"


def _written(path: Path, end: ExportEnd, limit: int, as_json: bool) -> None:
    if as_json:
        print_json(json_values(end) | {"file": str(path)})
        return
    _show_notes(end.degraded, end.filtered)
    more = "" if end.complete else f"; there are more than {limit:,}"
    out.print(f"{counted(end.hits, 'hit')} written to {path}{more}.", markup=False, soft_wrap=True)


def _opening(hit: Hit) -> Text:
    """The beginning of a document; --json has all of it."""
    more = " ..." if len(hit.text) > _OPENING else ""
    return Text("       " + one_line(hit.text[:_OPENING]) + more)


def _threshold_text(used: UsedThreshold) -> str:
    """The threshold, if one applies."""
    if used.value is None:
        return ""
    whose = {"collection": "the collection's threshold", "auto": "the automatic threshold"}.get(
        used.source, "the threshold"
    )
    return f" above {whose} of {used.value:.3f} on {used.on}"


def _highlighted(hit: Hit, console: Console) -> Text:
    span = marked(hit.text, console)
    if hit.context is None:
        return Text.assemble("       ", span)
    before, after = hit.context.text[: hit.context.start], hit.context.text[hit.context.end :]
    return Text.assemble("       ", one_line(before), span, one_line(after))
