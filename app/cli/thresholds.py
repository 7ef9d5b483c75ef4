"""``spanseek thresholds``: show, set and undo the threshold of a collection or of a saved phrase."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from app.answers import json_values
from app.cli.console import CollectionOption, JsonOption, one_line, open_services, out, print_json
from app.requests import ModeName
from indexer.tuning import ThresholdOn
from models.errors import InvalidInput

if TYPE_CHECKING:
    from app.calibration.answers import ModeThreshold
    from indexer.phrases import Phrase
    from indexer.tuning import Threshold

thresholds_cli = typer.Typer(help="Default thresholds of searches and saved phrases.", no_args_is_help=True)
ModeOption = Annotated[ModeName | None, typer.Option(help="The mode; `best_span` without it.")]
PhraseOption = Annotated[str | None, typer.Option(help="A saved phrase, instead of the collection.")]
NoteOption = Annotated[str, typer.Option(help="The reason; stored in the history.")]


@thresholds_cli.command("get")
def get_thresholds(collection: CollectionOption, phrase: PhraseOption = None, as_json: JsonOption = False) -> None:
    """Show the threshold of every mode, or of a saved phrase."""
    from app.calibration.answers import ModeThresholds
    from app.calibration.service import ThresholdService
    from app.phrases.service import PhraseService

    with open_services() as services:
        if phrase is not None:
            _show_phrase(services.get(PhraseService).get(collection, phrase), as_json=as_json)
            return
        modes = services.get(ThresholdService).thresholds(collection)
    if as_json:
        print_json(json_values(ModeThresholds(modes)))
        return
    table = Table("mode", "threshold", "as it was set", "calibration")
    for each in modes:
        table.add_row(each.mode, _threshold_text(each.threshold), _threshold_text(each.as_set), each.calibration or "")
    out.print(table)


@thresholds_cli.command("set")
def set_threshold(
    value: Annotated[str, typer.Argument(help="A number from 0 to 1, or `none` to remove the threshold.")],
    collection: CollectionOption,
    threshold_on: Annotated[ThresholdOn, typer.Option(help="The scale of the threshold.")] = "score",
    mode: ModeOption = None,
    phrase: PhraseOption = None,
    note: NoteOption = "",
    as_json: JsonOption = False,
) -> None:
    """Set the default threshold of searches, or of a saved phrase, from the next search on."""
    from app.calibration.service import ThresholdService
    from app.phrases.service import PhraseService

    number = _value(value)
    with open_services() as services:
        if phrase is None:
            changed_mode = services.get(ThresholdService).set(
                collection, mode or "best_span", number, threshold_on, note
            )
            _show_mode(collection, changed_mode, as_json=as_json)
        else:
            _refuse_mode(mode)
            changed = services.get(PhraseService).set_threshold(collection, phrase, number, threshold_on, note)
            _show_phrase(changed, as_json=as_json)


@thresholds_cli.command("propose")
def propose_thresholds(
    collection: CollectionOption,
    labels: Annotated[Path, typer.Option(help="NDJSON or `.csv` file with labels, 20 of every phrase are good.")],
    precision: Annotated[float, typer.Option(min=0, max=1, help="The precision that each phrase is to have.")] = 0.9,
    as_json: JsonOption = False,
) -> None:
    """Propose a threshold for every labelled phrase, from 5 labels each. Sets nothing."""
    from app.calibration.answers import PhraseThresholds
    from app.calibration.label_files import read_labels
    from app.calibration.phrase_thresholds import PhraseThresholdsRequest
    from app.calibration.service import ThresholdService

    request = PhraseThresholdsRequest(collection, read_labels(labels), precision)
    with open_services() as services:
        proposed = services.get(ThresholdService).propose(request)
    if as_json:
        print_json(json_values(PhraseThresholds(proposed)))
        return
    table = Table("phrase", "labels", "matches", "threshold (score)", "precision", "95 % interval", "documents")
    for each in proposed:
        counts = (one_line(each.phrase), str(each.labels), str(each.matches))
        share, score = each.precision, each.score
        if share is None or score is None:
            table.add_row(*counts, "none reaches it")
        else:
            figures = f"{score:.3f}", f"{share.value:.2f}", f"{share.low:.2f} to {share.high:.2f}"
            table.add_row(*counts, *figures, str(each.found))
    out.print(table)


@thresholds_cli.command("undo")
def undo_threshold(
    collection: CollectionOption,
    mode: ModeOption = None,
    phrase: PhraseOption = None,
    note: NoteOption = "",
    as_json: JsonOption = False,
) -> None:
    """Undo the last change; again undoes the one before it."""
    from app.calibration.service import ThresholdService
    from app.phrases.service import PhraseService

    with open_services() as services:
        if phrase is None:
            _show_mode(
                collection, services.get(ThresholdService).undo(collection, mode or "best_span", note), as_json=as_json
            )
        else:
            _refuse_mode(mode)
            _show_phrase(services.get(PhraseService).undo_threshold(collection, phrase, note), as_json=as_json)


@thresholds_cli.command("history")
def threshold_history(
    collection: CollectionOption, mode: ModeOption = None, phrase: PhraseOption = None, as_json: JsonOption = False
) -> None:
    """Show the changes of a threshold, the newest first."""
    from app.calibration.answers import ThresholdHistory
    from app.calibration.service import ThresholdService
    from app.phrases.service import PhraseService

    with open_services() as services:
        if phrase is None:
            changes = services.get(ThresholdService).history(collection, mode or "best_span")
        else:
            _refuse_mode(mode)
            changes = services.get(PhraseService).threshold_history(collection, phrase)
    if as_json:
        print_json(json_values(ThresholdHistory(changes)))
        return
    if not changes:
        out.print("The threshold was never set.")
    for change in changes:
        values = f"{_threshold_text(change.before)} -> {_threshold_text(change.after)}"
        note = f"undo. {change.note}" if change.undo else change.note
        at = (change.at.isoformat(timespec="seconds"), "dim")
        out.print(Text.assemble(at, f"  {values}  {one_line(note)}".rstrip()), soft_wrap=True)


def _value(given: str) -> float | None:
    if given == "none":
        return None
    try:
        return float(given)
    except ValueError as error:
        raise InvalidInput(
            f"A threshold cannot be {given!r}.",
            hint="Choose a number from 0 to 1, or none to remove it.",
            field="threshold",
        ) from error


def _refuse_mode(mode: ModeName | None) -> None:
    if mode is not None:
        raise InvalidInput(
            "A saved phrase has one threshold, whatever the mode.", hint="Leave out --mode.", field="mode"
        )


def _show_mode(collection: str, mode: "ModeThreshold", *, as_json: bool) -> None:
    if as_json:
        print_json(json_values(mode))
        return
    present = mode.threshold
    if present is None:
        out.print(f"{collection} has no threshold for mode {mode.mode}.", soft_wrap=True)
    else:
        out.print(f"The threshold of {collection} for mode {mode.mode} is {_threshold_text(present)}.", soft_wrap=True)


def _show_phrase(phrase: "Phrase", *, as_json: bool) -> None:
    from app.phrases.answers import PhraseDescription

    if as_json:
        print_json(json_values(PhraseDescription.of(phrase)))
        return
    applied = phrase.threshold
    if applied is None:
        state = "no threshold, nor has its collection: it matches nothing"
    elif phrase.own.threshold is None:
        state = f"no threshold of its own; the collection's applies, {_threshold_text(applied)}"
    else:
        state = f"the threshold {_threshold_text(applied)}"
    out.print(f"The phrase {one_line(phrase.name)} has {state}.", markup=False, soft_wrap=True)


def _threshold_text(threshold: "Threshold | None") -> str:
    if threshold is None:
        return "none"
    if threshold.on == "raw":
        return f"{threshold.value:.4f} on raw"
    return f"{threshold.value:.4f} on score, {threshold.raw:.4f} on raw"
