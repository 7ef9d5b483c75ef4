"""``spanseek spans``: the best spans of the documents of a file, without an index."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.answers import json_values
from app.cli.console import JsonOption, counted, err, one_line, out, print_json, settings_with
from app.cli.options import SHOWN_CONTEXT, ContextOption, with_options
from app.cli.search import show_hits
from app.requests import HitOptions
from models.fields import converted

if TYPE_CHECKING:
    from app.texts.span_answers import TextSpans
    from indexer.sources import Record
    from models.types import Document


@with_options(options=("context", "offset_unit"))
def spans(
    phrases: Annotated[list[str], typer.Argument(metavar="PHRASE...", help="The origin phrase, or several.")],
    source: Annotated[
        Path, typer.Option(help="Documents, as `spanseek index` takes them; those that cannot be read are reported.")
    ],
    options: HitOptions,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of spans of a text for each phrase.")] = 3,
    context: ContextOption = None,
    encoder: Annotated[str | None, typer.Option(help="The encoder; without one `SPANSEEK_ENCODER`.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the spans of texts that mean the same as a phrase. Nothing is indexed, and nothing is stored."""
    from app.services import make_encoders
    from app.texts.requests import SpansRequest
    from app.texts.spans import SpanService, slices
    from indexer.sources import Source

    settings = settings_with(encoder=encoder)
    context = (0 if as_json else SHOWN_CONTEXT) if context is None else context
    request = converted(options, SpansRequest, phrases=tuple(phrases), texts=(), limit=limit, context=context)
    records = _Records(Source(source))
    service = SpanService.by(make_encoders(settings), settings.encoder)
    encoded = service.encode(request)
    steps = (step for part in slices(records) for step in service.search(encoded, part))
    answer = service.answer(encoded, [text for step in steps for text in step.texts])
    if as_json:
        print_json(json_values(answer))
    else:
        _show(answer.results, phrases)
    if records.bad:
        err.print(f"{counted(records.bad, 'record')} could not be read.")
        raise typer.Exit(1)


class _Records:
    """The documents of a source. Those that cannot be read are reported and counted."""

    def __init__(self, records: Iterable["Record"]) -> None:
        self._records = records
        self.bad = 0

    def __iter__(self) -> Iterator["Document"]:
        from models.types import Document

        for record in self._records:
            if isinstance(record, Document):
                yield record
            else:
                self.bad += 1
                err.print(f"skipped {record.where}: {record.reason}", markup=False, soft_wrap=True)


def _show(results: Iterable["TextSpans"], phrases: list[str]) -> None:
    texts = hits = 0
    for text in results:
        texts += 1
        hits += len(text.hits)
        for number, phrase in enumerate(phrases):
            of_phrase = [hit for hit in text.hits if hit.phrase == number]
            if len(phrases) > 1 and of_phrase:
                out.print(one_line(phrase), style="dim", markup=False, soft_wrap=True)
            show_hits(of_phrase, out)
    out.print(f"{counted(hits, 'span')} of {counted(texts, 'text')}.", style="dim")
