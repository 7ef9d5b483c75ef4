"""``spanseek documents`` and ``spanseek delete``: list, show, change and delete documents."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, counted, one_line, open_services, out, print_json
from app.cli.exporting import FILES, check_new_file, new_file
from app.cli.maintenance import erased_text, removed_text, wait_for_readers
from app.cli.options import key_values, with_options
from indexer.engine.query import Filter
from models.errors import InvalidInput
from models.types import Document, JsonValue

documents_cli = typer.Typer(help="List, show and change documents.", no_args_is_help=True)
IdArgument = Annotated[str, typer.Argument(help="The document's id.")]


@documents_cli.command("list")
@with_options()
def list_documents(
    collection: CollectionOption,
    filter: Filter = Filter(),
    limit: Annotated[int, typer.Option(help="Maximum number of documents, up to 1000.")] = 100,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the previous page.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List documents by id, with the beginnings of their texts."""
    from app.collections.reading import DocumentReader

    with open_services() as services:
        page = services.get(DocumentReader).list(collection, limit, cursor, filter)
    if as_json:
        print_json(json_values(page))
        return
    for document in page.documents:
        out.print(f"{one_line(document.id)}  {one_line(document.beginning)}", soft_wrap=True, markup=False)
    out.print(f"{len(page.documents):,} of {counted(page.total, 'document')}")
    if page.cursor is not None:
        out.print(f"The next page: --cursor {page.cursor}", soft_wrap=True, markup=False)


@documents_cli.command("show")
def show_document(
    id: IdArgument,
    collection: CollectionOption,
    as_json: JsonOption = False,
) -> None:
    """Show a document: its metadata, and its parts with their metadata and texts."""
    from app.collections.reading import DocumentReader

    with open_services() as services:
        document = services.get(DocumentReader).get(collection, id)
    if as_json:
        print_json(json_values(document))
        return
    out.print(f"{one_line(id)}  {_spelt(document.metadata)}", soft_wrap=True, markup=False)
    if document.restored:
        out.print(f"Restored from vectors, confidence {document.confidence:.2f}: texts are not stored.", style="dim")
    for part in document.parts:
        out.print(f"\n[{part.start}, {part.end})  {_spelt(part.metadata)}", soft_wrap=True, markup=False)
        for line in document.text[part.start : part.end].splitlines():
            out.print(one_line(line), soft_wrap=True, markup=False)


@documents_cli.command("export")
@with_options()
def export_documents(
    collection: CollectionOption,
    path: Annotated[Path, typer.Option("--out", help="A new file: .ndjson, .ndjson.gz, .csv or .parquet.")],
    filter: Filter = Filter(),
    as_json: JsonOption = False,
) -> None:
    """Write documents with their texts to a file that can be indexed again."""
    from app.collections.exporting import DOCUMENT_FORMATS
    from app.collections.reading import DocumentReader

    check_new_file(path, (*(ending for ending, name in FILES.items() if name in DOCUMENT_FORMATS), ".ndjson.gz"))
    format = DOCUMENT_FORMATS[FILES[Path(path.name.removesuffix(".gz")).suffix]]
    written = 0

    def counting(documents: Iterator[Document]) -> Iterator[Document]:
        nonlocal written
        for document in documents:
            yield document
            written += 1

    with open_services() as services:
        documents = services.get(DocumentReader).export(collection, filter).documents
        with new_file(path) as file:
            file.writelines(format.pieces(counting(documents)))
    if as_json:
        print_json({"documents": written, "file": str(path)})
    else:
        out.print(f"{counted(written, 'document')} written to {path}.", markup=False, soft_wrap=True)


@documents_cli.command("change")
def change_document(
    id: IdArgument,
    collection: CollectionOption,
    set: Annotated[
        list[str] | None, typer.Option("--set", help="Metadata, `KEY=VALUE`; VALUE is JSON, or else a string.")
    ] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A key of the metadata to remove.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Change the metadata of a document. Its text is not encoded again."""
    from app.collections.documents import DocumentService
    from indexer.sources.documents import checked_metadata

    metadata = checked_metadata(key_values(set))
    with open_services() as services:
        changed = services.get(DocumentService).change(collection, id, metadata, remove or ())
    if as_json:
        print_json(json_values(changed))
    else:
        out.print(f"{one_line(id)} is {changed.status}: {_spelt(changed.metadata)}", soft_wrap=True, markup=False)


def _spelt(metadata: Mapping[str, JsonValue]) -> str:
    return one_line(json.dumps(metadata, ensure_ascii=False))


@with_options()
def delete(
    collection: CollectionOption,
    id: Annotated[list[str] | None, typer.Option(help="Id of a document; repeat for several.")] = None,
    ids: Annotated[Path | None, typer.Option(help="File with one id per line, in UTF-8.")] = None,
    filter: Filter = Filter(),
    purge: Annotated[
        bool,
        typer.Option(
            "--purge", help="Also erase deleted and replaced documents from the disk, those deleted before included."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete documents: searches no longer find them. --purge also erases them from the disk."""
    from app.collections.jobs import CollectionJobs, Waiting

    names, filter = [*(id or []), *_lines(ids)], filter
    if not names and not filter and not purge:
        raise InvalidInput(
            "No document is named.", hint="Give --id, --ids, --where or --filter, or --purge alone.", field="id"
        )
    with open_services() as services:
        jobs = services.get(CollectionJobs)
        deletion = jobs.delete(collection, names, filter, purged=purge, waiting=Waiting(sleep=wait_for_readers))
    deleted, missing, removed = len(deletion.ids), sorted(set(names) - deletion.ids), deletion.purged
    if as_json:
        purged = None if removed is None else asdict(removed)
        print_json({"deleted": deleted, "not_found": missing, "generation": deletion.generation, "purged": purged})
        return
    out.print(f"{counted(deleted, 'document')} deleted from {collection}; {len(missing):,} not found.")
    if removed is not None:
        out.print(f"{erased_text(removed.remains)}\n{removed_text(removed)}", markup=False, soft_wrap=True)


def _lines(path: Path | None) -> Iterator[str]:
    if path is None:
        return
    try:
        with path.open(encoding="utf-8", newline="") as file:
            yield from filter(None, (line.rstrip("\r\n") for line in file))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", hint="Give a text file in UTF-8.", field="ids") from error
