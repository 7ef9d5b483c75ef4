"""A dry run of ``spanseek index``: the documents it would index."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from app.cli.console import counted, one_line, out, print_json
from app.cli.reading import TEXT_LOST, Skipped, check_any_document, files_json, loses_text, report_files
from models.types import Document, Metadata

if TYPE_CHECKING:
    from indexer.sources import Source

_EXAMPLES = 3
_SHOWN_CHARACTERS = 200


@dataclass(slots=True)
class _Contents:
    documents: int = 0
    parts: int = 0
    characters: int = 0
    examples: list[Document] = field(default_factory=list)

    def add(self, document: Document) -> None:
        self.documents += 1
        self.parts += len(document.parts)
        self.characters += len(document.text)
        if len(self.examples) < _EXAMPLES:
            self.examples.append(document)


def show_contents(source: "Source", path: Path, skipped: Skipped, *, as_json: bool) -> None:
    """Read a source to its end, and print what it holds with three examples.

    Raises ``SourceUnreadable`` where no document could be read, and exits with 3, as indexing does, where text is lost.
    """
    check_any_document(source, path, skipped)
    contents = _Contents()
    for record in source:
        if isinstance(record, Document):
            contents.add(record)
        else:
            skipped(record)
    report_files(source)
    if as_json:
        print_json(_json(contents) | {"skipped": skipped.count} | files_json(source))
    else:
        _print(contents, skipped.count)
    if loses_text(source, skipped):
        raise typer.Exit(TEXT_LOST)


def _print(contents: _Contents, skipped: int) -> None:
    out.print(
        f"{counted(contents.documents, 'document')} ({counted(contents.parts, 'part')}, "
        f"{counted(contents.characters, 'character')}) would be indexed, {skipped:,} skipped.",
        soft_wrap=True,
    )
    for document in contents.examples:
        _show(document)


def _json(contents: _Contents) -> dict[str, object]:
    examples = [
        {
            "id": document.id,
            "parts": [{"text": part.text, "metadata": dict(part.metadata)} for part in document.parts],
            "metadata": dict(document.metadata),
        }
        for document in contents.examples
    ]
    return {
        "documents": contents.documents,
        "parts": contents.parts,
        "characters": contents.characters,
        "examples": examples,
    }


def _show(document: Document) -> None:
    lines = [f"\n{document.id}  {_facts(document.metadata)}".rstrip()]
    for part in document.parts[:_EXAMPLES]:
        text = one_line(part.text)
        cut = f"{text[:_SHOWN_CHARACTERS]}..." if len(text) > _SHOWN_CHARACTERS else text
        facts = _facts(part.metadata)
        lines.append(f"  {f'{facts}: ' if facts else ''}{cut}".rstrip())
    if len(document.parts) > _EXAMPLES:
        lines.append(f"  and {counted(len(document.parts) - _EXAMPLES, 'part')} more")
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)


def _facts(metadata: Metadata) -> str:
    """Metadata in brackets, values as JSON; empty if there is none.

    >>> _facts({"speaker": "agent", "start": 1.5})
    '[speaker: "agent", start: 1.5]'
    """
    facts = ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in metadata.items())
    return f"[{facts}]" if facts else ""
