"""``spanseek labels propose`` and ``spanseek label``: draw pairs to label, and label them in the terminal."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, counted, marked, one_line, open_services, out, print_json
from app.cli.options import with_options
from app.requests import ModeName
from indexer.engine.query import Filter
from indexer.tuning import ThresholdOn

if TYPE_CHECKING:
    from app.calibration.label_candidates import LabelCandidates
    from app.calibration.labelling import LabellingSession

labels_cli = typer.Typer(help="Pairs to label, for spanseek calibrate.", no_args_is_help=True)
_KEYS = "y(es)  n(o)  s(kip)  u(ndo)  q(uit)"


@labels_cli.command("propose")
@with_options()
def propose_labels(
    phrases: Annotated[list[str], typer.Argument(help="One or more origin phrases.")],
    collection: CollectionOption,
    file: Annotated[
        Path,
        typer.Option("--out", help="File for the label candidates, `.csv` or `.ndjson`; an existing one is replaced."),
    ],
    count: Annotated[int, typer.Option(help="Number of pairs of a phrase and a span, 20 to 2000.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the random sample.")] = 13,
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Draw most pairs near it; else near the collection's, or a score of 0.8."),
    ] = None,
    threshold_on: Annotated[ThresholdOn, typer.Option(help="The scale of the threshold and the floor.")] = "score",
    floor: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Draw from all spans that reach it, not only the best of each document."),
    ] = None,
    mode: Annotated[ModeName, typer.Option(help="How similarity is measured.")] = "best_span",
    filter: Filter = Filter(),
    as_json: JsonOption = False,
) -> None:
    """Draw pairs of a phrase and a span to label, most of them near the threshold, into a file."""
    from app.calibration.label_candidates import LabelCandidatesRequest
    from app.calibration.label_files import check_label_file_name, write_label_candidates
    from app.calibration.service import ThresholdService

    check_label_file_name(file)
    request = LabelCandidatesRequest(
        collection=collection,
        phrases=tuple(phrases),
        count=count,
        seed=seed,
        mode=mode,
        threshold=threshold,
        threshold_on=threshold_on,
        floor=floor,
        filter=filter,
    )
    with open_services() as services:
        candidates = services.get(ThresholdService).candidates(request)
    write_label_candidates(file, candidates)
    if as_json:
        print_json({name: value for name, value in json_values(candidates).items() if name != "candidates"})
    else:
        _show_strata(candidates)
        number = counted(len(candidates.candidates), "label candidate")
        out.print(f"{number} written to {file}. Label them with: spanseek label {file}", soft_wrap=True)


def label(file: Annotated[Path, typer.Argument(help="A file of `spanseek labels propose`, or of labels.")]) -> None:
    """Label a file in the terminal, one key per pair. Every answer is saved; run it again to resume."""
    from app.calibration.labelling import LabellingSession

    session = LabellingSession.open(file)
    while (row := session.current) is not None:
        _show_pair(session, row)
        key = _key()
        if key in ("q", ""):
            break
        _apply(session, key)
    out.print(f"{session.answered:,} of {session.total:,} labelled in {file}.", soft_wrap=True)


def _apply(session: "LabellingSession", key: str) -> None:
    if key in ("y", "n"):
        session.answer(match=key == "y")
    elif key == "s":
        session.skip()
    elif key != "u":
        out.print(f"Press one of: {_KEYS}", style="yellow")
    elif not session.undo():
        out.print("There is nothing to undo.", style="yellow")


def _show_pair(session: "LabellingSession", row: dict[str, Any]) -> None:
    text = str(row.get("says") or row.get("text") or "")
    context = str(row.get("context") or f"[[{text}]]")
    before, _, rest = context.partition("[[")
    span, _, after = rest.partition("]]")
    head = f"{session.answered + 1:,} of {session.total:,}  "
    out.print(Text.assemble((head, "dim"), (one_line(str(row.get("phrase", ""))), "bold")), soft_wrap=True)
    out.print(Text.assemble("       ", one_line(before), marked(span, out), one_line(after)), soft_wrap=True)
    out.print(f"       Same meaning?  {_KEYS}", style="dim")


def _key() -> str:
    """One key from a terminal, or one character of piped input; empty at its end."""
    if sys.stdin.isatty():
        return typer.getchar().lower()
    while (key := sys.stdin.read(1)).isspace():
        pass
    return key.lower()


def _show_strata(candidates: "LabelCandidates") -> None:
    table = Table("stratum", "raw", "pairs", "drawn")
    for one in candidates.strata:
        table.add_row(str(one.number), f"{one.low:.4f} to {one.high:.4f}", f"{one.population:,}", str(one.drawn))
    out.print(table)
