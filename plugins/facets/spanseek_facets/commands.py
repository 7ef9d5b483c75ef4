"""``spanseek compare`` and ``spanseek summarize``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from app.answers import json_values
from app.cli.console import JsonOption, one_line, open_services, out, print_json

if TYPE_CHECKING:
    from models.types import Document
    from spanseek_facets.answers import CompareAnswer, Facet, SummaryAnswer

CompareCollection = Annotated[
    str | None, typer.Option("--collection", "-c", help="Compare with its encoder, nuggets and calibrations.")
]
SummaryCollection = Annotated[
    str | None, typer.Option("--collection", "-c", help="The collection that holds the documents.")
]


compare_cli = typer.Typer(rich_help_panel="Search", add_completion=False)
summarize_cli = typer.Typer(rich_help_panel="Search", add_completion=False)


@compare_cli.command()
def compare(
    first: Annotated[str, typer.Argument(help="A text: the query.")],
    second: Annotated[str, typer.Argument(help="The text that it is compared with.")],
    collection: CompareCollection = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two texts: their similarity in every mode, their facets, and which is more general."""
    from spanseek_facets.answers import CompareRequest
    from spanseek_facets.comparing import CompareService

    with open_services() as services:
        answer = services.get(CompareService).compare(CompareRequest(first, second, collection))
    if as_json:
        print_json(json_values(answer))
    else:
        _show_comparison(answer)


@summarize_cli.command()
def summarize(
    documents: Annotated[list[str] | None, typer.Argument(metavar="[DOCUMENT]...", help="Ids of documents.")] = None,
    collection: SummaryCollection = None,
    source: Annotated[
        Path | None,
        typer.Option(help="Texts that are not stored, as `spanseek index` takes them; all must be readable."),
    ] = None,
    sentences: Annotated[int, typer.Option(min=1, max=100, help="The number of sentences to choose.")] = 3,
    as_json: JsonOption = False,
) -> None:
    """Choose the sentences of texts, all together, that cover their words best."""
    from spanseek_facets.answers import StoredTexts, SummaryRequest
    from spanseek_facets.summaries import SummaryService

    if bool(documents) != (collection is not None):
        raise typer.BadParameter("give --collection together with the ids of its documents")
    if not documents and source is None:
        raise typer.BadParameter("give ids of documents, or --source")
    stored = StoredTexts(collection, tuple(documents or ())) if collection else None
    request = SummaryRequest(stored, () if source is None else _texts(source), sentences)
    with open_services() as services:
        answer = services.get(SummaryService).summarize(request)
    if as_json:
        print_json(json_values(answer))
    else:
        _show_summary(answer)


def _texts(source: Path) -> "tuple[Document, ...]":
    """The documents of a source. Raises ``InvalidInput`` for the first record that is none."""
    from indexer.sources import Source
    from models.errors import InvalidInput
    from models.types import Document

    texts = []
    for record in Source(source):
        if not isinstance(record, Document):
            raise InvalidInput(f"{record.where}: {record.reason}", hint="Correct it, or take it out.", field="source")
        texts.append(record)
    return tuple(texts)


def _show_comparison(answer: "CompareAnswer") -> None:
    table = Table("mode", "score", "raw")
    for each in answer.similarities:
        if each.error is not None:
            table.add_row(each.mode, "", each.error.detail)
        else:
            table.add_row(each.mode, f"{each.score:.3f}", f"{each.raw:.3f}")
    out.print(table)
    if answer.facets is None:
        out.print("No facets: a text has no word that the word vectors have.")
        return
    out.print(f"Distance of facets {answer.facets.distance:.3f}")
    for name, facets in (("first", answer.facets.first), ("second", answer.facets.second)):
        out.print(f"  {name}: {_named(facets)}", markup=False, soft_wrap=True)
    if answer.direction is not None:
        side = answer.direction.more_general
        sentence = "Neither text is more general" if side is None else f"The {side} text is more general"
        out.print(f"{sentence} ({answer.direction.difference:+.3f}).")


def _named(facets: "tuple[Facet, ...]") -> str:
    return "; ".join(dict.fromkeys(" ".join(facet.words) for facet in facets))


def _show_summary(answer: "SummaryAnswer") -> None:
    for sentence in answer.sentences:
        place = f"{one_line(sentence.document_id)}  [{sentence.start}, {sentence.end})"
        out.print(f"{sentence.rank:>3}.  {sentence.coverage:.3f}  {place}", markup=False)
        out.print(f"       {one_line(sentence.text)}", markup=False, soft_wrap=True)
    out.print(f"{len(answer.sentences)} of {answer.of} sentences.", style="dim")
