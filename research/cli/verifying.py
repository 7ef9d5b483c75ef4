"""``spanseek train verifier-scale``, ``spanseek eval contrast`` and ``spanseek eval labelled-hits``."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.console import JsonOption, err, open_services, out, print_json, settings_with
from models.errors import InvalidInput

if TYPE_CHECKING:
    from app.encoders.encoders import Encoders
    from app.services import Services
    from models.verifier.verifier import Verifier
    from research.training.verifier_scale import Pairs

ContrastOption = Annotated[Path, typer.Option("--contrast", help="A file of contrast lines, NDJSON.")]
UnmatchedOption = Annotated[
    Path | None, typer.Option("--no-match", help='Phrases that the collection does not hold: {"phrase": ...} a line.')
]
SamplesOption = Annotated[Path, typer.Option(help="Folder of the sample corpus, which the collection sample holds.")]
CollectionOption = Annotated[
    str | None, typer.Option("--collection", "-c", help="A collection for them, of 100,000 units or more.")
]


def train_verifier_scale(
    contrast: ContrastOption,
    unmatched: UnmatchedOption = None,
    collection: CollectionOption = None,
    samples: SamplesOption = Path("samples"),
    data: Annotated[Path | None, typer.Option(help="Folder of the known sets, for labelled hits.")] = None,
    weights: Annotated[Path | None, typer.Option(help="Folder of the verifier, else the shipped one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Fit what the second look's evidence is worth, on one half of all sets, and write it beside the weights."""
    from models.artifacts import SHIPPED
    from research.training.labelled_hits import read_labelled
    from research.training.verifier_scale import fit_scale, write_scale

    with open_services(settings_with(verifier_weights=weights)) as services:
        pairs = _pairs(services, contrast, samples, unmatched, collection)
        labelled = read_labelled(data, held_out=True) if data else []
        scale = fit_scale(verifier_of(services.encoders), replace(pairs, labelled=labelled))
    write_scale(weights or SHIPPED / "verifier", scale)
    if as_json:
        print_json({"intercept": scale.intercept, **scale.weights._asdict(), "even": scale.decision_point})
    else:
        out.print(f"intercept {scale.intercept}, {scale.weights}, even at {scale.decision_point}")


def eval_contrast(
    contrast: ContrastOption,
    unmatched: UnmatchedOption = None,
    collection: CollectionOption = None,
    samples: SamplesOption = Path("samples"),
    as_json: JsonOption = False,
) -> None:
    """Measure if scores see what differs: both looks on each half of contrast lines, and on phrases without a match."""
    from app.search.service import SearchService
    from research.evaluation.corpus import read_corpus
    from research.evaluation.sample import CORPUS, read_phrases
    from research.evaluation.second_look import borders, evaluate, medians

    phrases = read_phrases(samples)
    with open_services() as services:
        figures = evaluate(verifier_of(services.encoders), _pairs(services, contrast, samples, unmatched, collection))
        marked = borders(services.get(SearchService), read_corpus(samples / CORPUS), phrases)
        recipe = services.store.snapshot("sample").recipe
        by_mode = medians(
            services.get(SearchService), "sample", recipe, [each.text for each in phrases if not each.gold]
        )
    if as_json:
        halves = {half: asdict(each) | {"borders": asdict(marked[half])} for half, each in figures.items()}
        print_json(halves | {"medians": by_mode})
        return
    for half, each in figures.items():
        out.print(f"{half}, first look: {_line(asdict(each.first))}", soft_wrap=True)
        out.print(f"{half}, second look: {_line(asdict(each.second))}", soft_wrap=True)
        out.print(
            f"{half}: of {each.phrases} phrases of the sample {each.first_by_first} and {each.first_by_second} have a "
            f"right hit first, {each.likely} a likely one; {each.wrong} wrong hits are likely. Of {each.unmatched} "
            f"phrases without a match {each.answered} have a likely hit. Of {marked[half].right} right first hits "
            f"{marked[half].as_planted} are marked as planted.",
            soft_wrap=True,
        )
    out.print(f"Phrases that the sample does not hold, median of their best probabilities: {_line(by_mode)}")


def eval_labelled_hits(
    data: Annotated[Path, typer.Option(help="Folder of the known sets.")],
    weights: Annotated[Path | None, typer.Option(help="Folder of the verifier, else the shipped one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what the second look says of labelled hits of searches, of phrases that neither trained nor chose."""
    from research.evaluation.second_look import labelled_figures
    from research.training.labelled_hits import half_of_held_out, read_labelled

    lists = [hits for hits in read_labelled(data, held_out=True) if half_of_held_out(hits[0].pair.phrase) == "reported"]
    with open_services(settings_with(verifier_weights=weights)) as services:
        figures = labelled_figures(verifier_of(services.encoders), lists)
    if as_json:
        print_json(asdict(figures))
    else:
        likely = ", ".join(f"{label} {share:.2f}" for label, share in figures.likely.items())
        out.print(f"{figures.phrases} phrases, {figures.hits} hits: AUC {figures.auc:.3f}; called likely: {likely}")


def _line(figures: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} {value:.3f}" if isinstance(value, float) else f"{name} {value}" for name, value in figures.items()
    )


def verifier_of(encoders: "Encoders") -> "Verifier":
    """The verifier that the settings name. Raises ``InvalidInput`` if there is none over the backbone."""
    from models.verifier.verifier import open_verifier

    verifier = open_verifier(encoders.load("slice"), encoders.options.verifier_weights)
    if verifier is None:
        raise InvalidInput(
            "There is no verifier over this backbone.", hint="Use the backbone that it was trained over."
        )
    return verifier


def _pairs(
    services: "Services", contrast: Path, samples: Path, unmatched: Path | None, collection: str | None
) -> "Pairs":
    import json

    from app.search.service import SearchService
    from app.texts.spans import SpanService
    from research.evaluation.sample import read_phrases
    from research.training.contrast_data import read_contrast
    from research.training.verifier_scale import Pairs, contrast_pairs, hit_pairs

    phrases = [json.loads(line)["phrase"] for line in unmatched.read_text("utf-8").splitlines()] if unmatched else []
    if bool(phrases) != bool(collection):
        raise InvalidInput("Phrases without a match need a collection, and the other way round.", field="collection")
    with err.status("The first look"):
        search = services.get(SearchService)
        return Pairs(
            [(line, contrast_pairs(services.get(SpanService), line)) for line in read_contrast([contrast])],
            [(each.text, *hit_pairs(search, "sample", each.text, each.gold)) for each in read_phrases(samples)],
            [(phrase, hit_pairs(search, str(collection), phrase)[0]) for phrase in phrases],
        )
