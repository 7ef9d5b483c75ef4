"""``spanseek search``: hits highlighted in their context, or the HTTP answer as JSON."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, checked_store, one_line, out, print_json
from app.cli.filters import WhereOption, WherePartOption, filter_of
from app.search.types import (
    Explanation,
    Hit,
    Mode,
    PairedExplanation,
    SearchAnswer,
    SearchRequest,
    UsedThreshold,
)
from app.settings import Settings
from indexer.engine.query import Grouping
from indexer.tuning import ThresholdOn

if TYPE_CHECKING:
    from app.search.modes import HitUnit

# Characters of a document that are shown, and of context on either side of a span.
_OPENING = 160
_CONTEXT = 80


def search(
    phrase: Annotated[str, typer.Argument(help="The origin phrase.")],
    collection: CollectionOption,
    top_k: Annotated[int, typer.Option(min=1, max=1000, help="Most hits to show.")] = 10,
    threshold: Annotated[float | None, typer.Option(min=0, max=1, help="Least similarity of a hit.")] = None,
    threshold_on: Annotated[ThresholdOn, typer.Option(help="The scale of the threshold.")] = "score",
    mode: Annotated[Mode, typer.Option(help="How similarity is measured.")] = "best_span",
    group_by: Annotated[
        Grouping | None, typer.Option(help="Keep all spans, or the best of every part or document.")
    ] = None,
    where: WhereOption = None,
    where_part: WherePartOption = None,
    context: Annotated[
        int | None,
        typer.Option(min=0, max=1000, help="Characters of context on either side: 80, or with --json none."),
    ] = None,
    explain: Annotated[
        bool, typer.Option(help="Show what every unit, or pair of nuggets, adds to the cosine.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Find the spans that mean the same as a phrase or, in mode maxsim, the documents that are about the same."""
    from app.composition import Services

    settings = Settings()
    request = SearchRequest(
        collection=collection,
        text=phrase,
        mode=mode,
        top_k=top_k,
        group_by=group_by,
        threshold=threshold,
        threshold_on=threshold_on,
        filter=filter_of(where, where_part),
        context=context or 0,
        explain=explain,
    )
    with checked_store(settings) as store:
        service = Services(settings, store).search
        unit = service.modes[mode].unit
        if context is None and unit == "span" and not as_json:
            request = replace(request, context=_CONTEXT)
        (answer,) = service.search(request)
    if as_json:
        print_json(json_values(answer))
    else:
        _show(answer, unit)


def show_hits(hits: Iterable[Hit], console: Console, unit: "HitUnit" = "span") -> None:
    """Print each hit in its context; of a document its opening."""
    for hit in hits:
        place = f"  {one_line(hit.document_id)}  [{hit.start}, {hit.end})"
        console.print(Text.assemble((f"{hit.score:.3f}", "bold green"), place), soft_wrap=True)
        console.print(_opening(hit) if unit == "document" else _highlighted(hit), soft_wrap=True)
        for line in _explained(hit.explanation):
            console.print(Text("       " + line, style="dim"), soft_wrap=True)


def _show(answer: SearchAnswer, unit: "HitUnit") -> None:
    if not answer.hits:
        out.print(f"No {unit} was found.")
    show_hits(answer.hits, out, unit)
    told = f"{len(answer.hits)} hits{_told(answer.threshold)} in {answer.took_ms:.0f} ms"
    out.print(f"{told}, generation {answer.generation}.", style="dim")


def _explained(explanation: Explanation | PairedExplanation | None) -> Iterator[str]:
    """Lines that say what adds up to the cosine."""
    if isinstance(explanation, Explanation):
        yield "  ".join(f"{one_line(unit.text)} {unit.contribution:+.3f}" for unit in explanation.units)
    if isinstance(explanation, PairedExplanation):
        for pair in explanation.pairs:
            asked = one_line(pair.query.text).strip() if pair.query else "the vector"
            yield f"{pair.contribution:+.3f}  {asked} → {one_line(pair.stretch.text).strip()}"


def _opening(hit: Hit) -> Text:
    """How a document begins: on a terminal there is no room for all of it, and --json has it whole."""
    more = " ..." if len(hit.text) > _OPENING else ""
    return Text("       " + one_line(hit.text[:_OPENING]) + more)


def _told(used: UsedThreshold) -> str:
    """The threshold, where somebody set one."""
    if used.value is None:
        return ""
    whose = "the collection's threshold" if used.source == "collection" else "the threshold"
    return f" above {whose} of {used.value:.3f} on {used.on}"


def _highlighted(hit: Hit) -> Text:
    line = Text("       ")
    if hit.context is None:
        return line.append(one_line(hit.text), "bold reverse")
    before, after = hit.context.text[: hit.context.start], hit.context.text[hit.context.end :]
    return line.append(one_line(before)).append(one_line(hit.text), "bold reverse").append(one_line(after))
