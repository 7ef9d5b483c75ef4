"""``spanseek preview``: count what a threshold would find."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, counted, one_line, open_services, out, print_json
from app.cli.options import with_options
from app.cli.plots import plots_for
from app.requests import PreviewOptions, PreviewRequest
from indexer.tuning import ThresholdOn
from models.fields import converted

if TYPE_CHECKING:
    from app.calibration.preview import Example, PhrasePreview, Preview

# The table shows every fifth score.
_STEP = 5


@with_options(options=("phrases", "saved"))
def preview(
    collection: CollectionOption,
    options: PreviewOptions,
    phrases: Annotated[list[str] | None, typer.Argument(help="Origin phrases.")] = None,
    saved: Annotated[
        list[str] | None,
        typer.Option(help="Also the saved phrase of this name, with its own threshold; repeat for several."),
    ] = None,
    all_saved: Annotated[bool, typer.Option("--all-saved", help="Also all saved phrases.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the counts to this file, `.png`, `.svg`, `.pdf` ...; needs `spanseek-research`."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Count what a threshold would find in the whole collection, with examples just above and below it."""
    from app.calibration.service import ThresholdService

    plots = plots_for(plot)
    request = converted(
        options,
        PreviewRequest,
        collection=collection,
        phrases=tuple(phrases or ()),
        saved="all" if all_saved else tuple(saved or ()),
    )
    with open_services() as services:
        answer = services.get(ThresholdService).preview(request)
    if plot is not None and plots is not None:
        plots.save_preview(plot, answer)
    if as_json:
        print_json(json_values(answer))
    else:
        _show(answer)


def _show(answer: "Preview") -> None:
    none = answer.no_match
    if none is not None:
        out.print(
            f"In {counted(none.units, 'unit')}, the best score of a phrase without a match has "
            f"a median of {none.median:.3f} and a 95th percentile of {none.high:.3f}.",
            soft_wrap=True,
        )
    for counts in answer.phrases:
        used = counts.threshold
        out.print(
            Text(f"{one_line(counts.phrase)}: {counted(counts.with_spans, 'document')}", style="bold"), soft_wrap=True
        )
        if used.value is not None:
            spans = "" if counts.spans is None else f", in {counted(counts.spans, 'span')}"
            out.print(f"{_reaching(counts.documents or 0)} {used.value:.3f} on {used.on}{spans}.", soft_wrap=True)
        out.print(_table(answer, counts))
        _show_examples("just above", counts.above, used.on)
        _show_examples("just below", counts.below, used.on)


def _reaching(documents: int) -> str:
    verb = "reaches" if documents == 1 else "reach"
    return f"{documents:,} of them {verb}"


def _table(answer: "Preview", counts: "PhrasePreview") -> Table:
    table = Table("score", "documents above", "spans above")
    for number in range(0, len(answer.scores), _STEP):
        spans = counts.spans_above[number]
        cells = f"{counts.documents_above[number]:,}", "" if spans is None else f"{spans:,}"
        table.add_row(f"{answer.scores[number]:.2f}", *cells)
    return table


def _show_examples(where: str, examples: tuple["Example", ...], on: ThresholdOn) -> None:
    """Print examples with their values on the scale of the threshold."""
    for example in examples:
        place = (
            f"  {where}  {one_line(example.text)}  {one_line(example.document_id)}{'  exact' if example.match else ''}"
        )
        value = example.raw if on == "raw" else example.score
        out.print(Text.assemble((f"{value:.3f}", "bold green"), place), soft_wrap=True)
