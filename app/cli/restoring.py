"""``spanseek restore`` and ``spanseek vectors``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.answers import json_values
from app.cli.console import JsonOption, one_line, open_services, out, print_json

if TYPE_CHECKING:
    from app.services import Services
    from app.texts.restored_answers import GivenVectors, RestoreAnswer, StoredSpans

RestoreCollection = Annotated[
    str | None, typer.Option("--collection", "-c", help="The collection that holds the documents.")
]
Beams = Annotated[int, typer.Option(min=1, max=8, help="Beams of the search for the most probable text.")]


def vectors(texts: Annotated[list[str], typer.Argument(help="Texts of a few sentences each.")]) -> None:
    """Print vectors of texts, as JSON, from which `spanseek restore --vectors` writes the texts again."""
    from app.texts.restoring import RestoreService

    with open_services() as services:
        print_json(json_values(services.get(RestoreService).vectors(texts)))


def restore(
    documents: Annotated[list[str] | None, typer.Argument(metavar="[DOCUMENT]...", help="Ids of documents.")] = None,
    collection: RestoreCollection = None,
    texts: Annotated[
        list[str] | None, typer.Option("--text", help="Show what would come back of this text; repeat for several.")
    ] = None,
    given: Annotated[
        Path | None, typer.Option("--vectors", help="JSON as `spanseek vectors` prints it.", dir_okay=False)
    ] = None,
    beams: Beams = 1,
    warn_below: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Warn of texts of a lower confidence; without it `SPANSEEK_RESTORE_WARN_BELOW`."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Restore texts from vectors of stored documents, of a file, or of a text that is given for a test."""
    from app.texts.restored_answers import RestoreRequest
    from app.texts.restoring import RestoreService

    if bool(documents) != (collection is not None):
        raise typer.BadParameter("give --collection together with the ids of its documents")
    if sum(map(bool, (documents, texts, given))) != 1:
        raise typer.BadParameter("give ids of documents, --text, or --vectors")
    with open_services() as services:
        if collection is not None:
            request = RestoreRequest(None, _spans(collection, documents or []), beams, warn_below)
        else:
            request = RestoreRequest(_given(services, texts or [], given), None, beams, warn_below)
        answer = services.get(RestoreService).restore(request)
    if as_json:
        print_json(json_values(answer))
    else:
        _show(answer)


def _spans(collection: str, documents: list[str]) -> "StoredSpans":
    from app.texts.requests import SpanRange
    from app.texts.restored_answers import StoredSpans

    # Longer than any document: whole documents.
    return StoredSpans(collection, tuple(SpanRange(id, 0, 2**62) for id in documents))


def _given(services: "Services", texts: list[str], given: Path | None) -> "GivenVectors":
    from app.texts.restoring import RestoreService

    if given is None:
        return services.get(RestoreService).given(texts)
    return _read_vectors(given)


def _read_vectors(path: Path) -> "GivenVectors":
    """The vectors of a file. Raises ``InvalidInput`` for any other file."""
    import numpy as np

    from app.texts.restored_answers import GivenVectors
    from models.errors import InvalidInput

    try:
        values = json.loads(path.read_bytes())
        with np.errstate(over="ignore"):  # what is too large is refused as infinity
            texts = tuple(np.array(rows, np.float32) for rows in values["vectors"])
        if any(rows.ndim != 2 for rows in texts):
            raise ValueError("for every text there must be a list of vectors of one length")
        return GivenVectors(texts, str(values["fingerprint"]))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InvalidInput(
            f"{path} does not hold vectors: {error}", hint="Give a file that `spanseek vectors` wrote.", field="vectors"
        ) from error


def _show(answer: "RestoreAnswer") -> None:
    for each in answer.texts:
        place = "" if each.document_id is None else f"{one_line(each.document_id)}  [{each.start}, {each.end})  "
        out.print(f"{each.confidence:.3f}  {place}{one_line(each.text)}", markup=False, soft_wrap=True)
        if each.warning is not None:
            unsure = min(each.tokens, key=lambda token: token.confidence).text.strip()
            named = repr(unsure) if unsure else "its end"
            out.print(f"       {each.warning} ({named})", markup=False, style="dim", soft_wrap=True)
