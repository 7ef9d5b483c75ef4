"""``spanseek train verifier-scale`` and ``spanseek eval contrast``."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.console import JsonOption, err, open_services, out, print_json, settings_with
from models.errors import InvalidInput

if TYPE_CHECKING:
    from app.composition import Services
    from models.verifier.verifier import Verifier
    from research.training.verifier_scale import Pairs

ContrastOption = Annotated[Path, typer.Option("--contrast", help="A file of contrast lines, NDJSON.")]
UnmatchedOption = Annotated[
    Path | None, typer.Option("--no-match", help='Phrases that the collection does not hold: {"phrase": ...} a line.')
]
CollectionOption = Annotated[
    str | None, typer.Option("--collection", "-c", help="A collection for them, of 100,000 units or more.")
]


def train_verifier_scale(
    contrast: ContrastOption,
    unmatched: UnmatchedOption = None,
    collection: CollectionOption = None,
    weights: Annotated[Path | None, typer.Option(help="Folder of the verifier, else the shipped one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Fit what the second look's evidence is worth, on one half of both files, and write it beside the weights."""
    from models.artifacts import SHIPPED
    from research.training.verifier_scale import fit_scale, write_scale

    with open_services(settings_with(verifier_weights=weights)) as services:
        scale = fit_scale(_verifier(services), _pairs(services, contrast, unmatched, collection))
    write_scale(weights or SHIPPED / "verifier", scale)
    if as_json:
        print_json({"intercept": scale.intercept, **scale.weights._asdict()})
    else:
        out.print(f"intercept {scale.intercept}, {scale.weights}")


def eval_contrast(
    contrast: ContrastOption,
    unmatched: UnmatchedOption = None,
    collection: CollectionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Whether scores see what differs: both looks on each half of contrast lines, and on phrases without a match."""
    import numpy as np

    from research.evaluation.contrast import report
    from research.training.verifier_scale import chooses

    with open_services() as services:
        pairs = _pairs(services, contrast, unmatched, collection)
        verifier = _verifier(services)
        lines = [line for line, _ in pairs.lines]
        looks = {
            "first": np.array(pairs.similarities),
            "second": np.array([[each.probability for each in verifier.judge(judged)] for _, judged in pairs.lines]),
        }
        likely = {phrase: sum(each.is_likely for each in verifier.judge(found)) for phrase, found in pairs.unmatched}
    figures = {
        half: {name: asdict(report(lines, scores, 0.5, half)) for name, scores in looks.items()}
        for half in ("chooses", "reported")
    }
    answered = {
        half: [count > 0 for phrase, count in likely.items() if chooses(phrase) == (half == "chooses")]
        for half in figures
    }
    if as_json:
        print_json({"halves": figures, "answered": {half: sum(each) for half, each in answered.items()}})
        return
    for half, of_half in figures.items():
        for look, each in of_half.items():
            out.print(f"{half}, {look} look: {_line(each)}", soft_wrap=True)
        if of := answered[half]:
            out.print(f"{half}: of {len(of)} phrases without a match {sum(of)} have a likely hit.", soft_wrap=True)


def _line(figures: dict[str, object]) -> str:
    return ", ".join(
        f"{name} {value:.3f}" if isinstance(value, float) else f"{name} {value}" for name, value in figures.items()
    )


def _verifier(services: "Services") -> "Verifier":
    from models.verifier.verifier import open_verifier

    encoders = services.encoders
    verifier = open_verifier(encoders.load("slice"), encoders.options.verifier_weights)
    if verifier is None:
        raise InvalidInput(
            "There is no verifier over this backbone.", hint="Use the backbone that it was trained over."
        )
    return verifier


def _pairs(services: "Services", contrast: Path, unmatched: Path | None, collection: str | None) -> "Pairs":
    import json

    from research.training.contrast_data import read_contrast
    from research.training.verifier_scale import Pairs, contrast_pairs, unmatched_pairs

    phrases = [json.loads(line)["phrase"] for line in unmatched.read_text("utf-8").splitlines()] if unmatched else []
    if bool(phrases) != bool(collection):
        raise InvalidInput("Phrases without a match need a collection, and the other way round.", field="collection")
    with err.status("The first look"):
        lines = list(read_contrast([contrast]))
        judged = [contrast_pairs(services.spans, line) for line in lines]
        return Pairs(
            [(line, pairs) for line, (pairs, _) in zip(lines, judged, strict=True)],
            [similarities for _, similarities in judged],
            [(each, unmatched_pairs(services.search, str(collection), each, "best_span")) for each in phrases],
        )
