"""Options of commands that read documents from files, and reports of what was read."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Self, TextIO

import typer

from app.cli.console import counted, err
from indexer.errors import SourceUnreadable
from models.types import Document

if TYPE_CHECKING:
    from indexer.sources import BadRecord, ReadOptions, Source

SourceOption = Annotated[
    Path,
    typer.Option(
        help="A file, or a folder with its sub-folders: tables, JSON, text, web pages, subtitles, PDF, Office, e-mail; "
        "also `.gz`."
    ),
]
_NAMED = 20
# The exit status of a command that indexed a source and lost text of it.
TEXT_LOST: Final = 3
ReportOption = Annotated[
    Path | None,
    typer.Option(help="Write all skipped records to this file, NDJSON; without it, only where they are over twenty."),
]


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """The reading options of a command."""

    id_column: Annotated[
        str | None, typer.Option(help="Column of the ids of a table, or field of JSON; `id` without it.")
    ] = None
    text_column: Annotated[
        str | None,
        typer.Option(help="Column of the texts, `text` without it; several, with commas between them, become parts."),
    ] = None
    part_column: Annotated[
        str | None, typer.Option(help="Rows of one id are the parts of one document; the column that numbers them.")
    ] = None
    metadata_columns: Annotated[
        str | None, typer.Option(help="Columns of metadata, with commas between them; all others without it.")
    ] = None
    row_ids: Annotated[bool, typer.Option("--row-ids", help="Make ids of the file's name and the row's number.")] = (
        False
    )
    delimiter: Annotated[
        str | None, typer.Option(help="The sign between the cells of CSV files, detected without it; `\\t` is a tab.")
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of CSV and text files, as Python names it; detected without it.")
    ] = None
    quote: Annotated[
        str | None,
        typer.Option(help='The sign around cells of CSV files, `"` without it; `none` for files without quoting.'),
    ] = None
    records: Annotated[
        str | None, typer.Option(help="Field of a JSON object that holds the records; found if there is one.")
    ] = None
    no_types: Annotated[bool, typer.Option("--no-types", help="Keep the cells of tables as strings.")] = False
    metadata: Annotated[
        Path | None,
        typer.Option("--metadata", help="A table of further metadata: a column `id` or `file`, and others."),
    ] = None
    comments: Annotated[
        bool,
        typer.Option(
            "--comments",
            help="Read comments of documents and slides, and notes that readers stuck to pages of a PDF.",
        ),
    ] = False

    def options(self) -> "ReadOptions":
        """The options for the readers.

        >>> ReadingOptions(metadata_columns="team, queue").options().metadata_columns
        ('team', 'queue')
        """
        from indexer.sources import ReadOptions

        columns = self.metadata_columns
        return ReadOptions(
            id_column=self.id_column,
            text_column=self.text_column,
            part_column=self.part_column,
            metadata_columns=None if columns is None else tuple(filter(None, map(str.strip, columns.split(",")))),
            row_ids=self.row_ids,
            delimiter=None if self.delimiter is None else _delimiter(self.delimiter),
            quote=self.quote,
            records=self.records,
            encoding=self.encoding,
            typed=not self.no_types,
            metadata=self.metadata,
            comments=self.comments,
        )


def _delimiter(given: str) -> str:
    """The sign that an option names, of which ``\\t`` is a tab."""
    sign = given.replace("\\t", "\t")
    if len(sign) != 1:
        raise typer.BadParameter(f"{given!r} is not one sign.", param_hint="--delimiter")
    return sign


class Skipped:
    """Names skipped records: the first twenty one by one, and all in a file, NDJSON, where there are more.

    Without ``report`` the file is ``otherwise``; with it, it is written from the first record on. The end of the block
    says how many more there were, and where all of them are.
    """

    def __init__(self, report: Path | None, otherwise: Path) -> None:
        self.count = 0
        self.loses_text = False
        self._path, self._from = report or otherwise, 1 if report else _NAMED + 1
        self._waiting: list[BadRecord] = []
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, record: "BadRecord") -> None:
        self.count += 1
        self.loses_text |= record.lost
        self._waiting.append(record)
        if self.count <= _NAMED:
            report_bad_record(record)
        if self.count == self._from:
            self._open()
        if self.count >= self._from:
            self._write()

    def __exit__(self, *_: object) -> None:
        said = [f"Skipped {counted(self.count - _NAMED, 'more record')}."] if self.count > _NAMED else []
        if self._file is not None:
            self._file.close()
            said.append(f"All skipped records are in {self._path}.")
        if said:
            _say(" ".join(said))

    def _open(self) -> None:
        try:
            self._file = self._path.open("w", encoding="utf-8")
        except OSError as error:
            _say(f"{self._path} cannot be written ({error.strerror}): name another file with --report.")

    def _write(self) -> None:
        if self._file is not None:
            self._file.writelines(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in self._waiting)
        self._waiting.clear()


def check_any_document(source: "Source", path: Path, skipped: Skipped) -> None:
    """Raise ``SourceUnreadable``, after reporting the bad records, where no record is valid."""
    if any(isinstance(record, Document) for record in source):
        return
    for record in source:
        if not isinstance(record, Document):
            skipped(record)
    report_files(source)
    held = f"{counted(skipped.count, 'record')}, none of them valid" if skipped.count else "no documents"
    raise SourceUnreadable(
        f"{path} holds {held}; nothing was indexed.",
        hint="Correct the records named above, or give another --source.",
        field="source",
    )


def report_bad_record(record: "BadRecord") -> None:
    """Name a record that is skipped."""
    err.print(f"skipped {record.where}: {record.reason}", markup=False, soft_wrap=True)


def report_files(source: "Source") -> None:
    """Say what was concluded about files, what they lost, which were passed over, and unmatched metadata."""
    for name, notice in list(source.notices.items())[:_NAMED]:
        _say(f"{name}: {notice}.")
    for name, lost in list(source.lost.items())[:_NAMED]:
        _say(f"lost from {name}: {', '.join(lost)}.")
    if len(source.lost) > _NAMED:
        _say(f"lost from {counted(len(source.lost) - _NAMED, 'more file')}.")
    if source.replaced:
        _say(
            f"{source.replaced:,} of {counted(source.documents, 'document')} were replaced by later ones with the same "
            "id; --part-column makes the rows of one id the parts of one document."
        )
    if source.passed_over:
        _say(f"Passed over {counted(len(source.passed_over), 'file')} of other formats: {_names(source.passed_over)}.")
    if source.unmatched_metadata:
        ids = source.unmatched_metadata
        _say(f"The table of metadata names {counted(len(ids), 'document')} that did not come: {_names(ids)}.")
    if source.unreadable:
        _say(f"Could not be read to the end: {', '.join(source.unreadable)}.")


def loses_text(source: "Source", skipped: Skipped) -> bool:
    """True if text of a source is not in the index: of skipped records, of files read in part, or left out of files."""
    return bool(skipped.loses_text or source.lost or source.unreadable)


def files_json(source: "Source") -> dict[str, object]:
    """The counts of ``report_files`` as JSON."""
    return {
        "tables": source.notices,
        "lost": {name: list(lost) for name, lost in source.lost.items()},
        "passed_over": list(source.passed_over),
        "unmatched_metadata": list(source.unmatched_metadata),
        "unreadable": list(source.unreadable),
        "replaced": source.replaced,
    }


def _names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _say(text: str) -> None:
    err.print(text, markup=False, soft_wrap=True)
