"""``spanseek train span-score``: what the length and the borders of a span are worth."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from app.cli.console import JsonOption, err, out, print_json
from app.encoders.encoders import Encoders
from app.settings import Settings
from models.encoders.registry import weights_folder
from models.errors import InvalidInput
from research.cli.training_options import ExcludeOption
from research.training.sources import read_excluded


def train_span_score(
    data: Annotated[Path, typer.Option(help="Folder of the known sets.")],
    encoder: Annotated[str, typer.Option(help="Encoder with trained weights.")] = "slice",
    exclude: ExcludeOption = None,
    pairs: Annotated[int, typer.Option(min=100, help="How many graded pairs at most.")] = 1_500,
    discount: Annotated[float | None, typer.Option(min=0, help="Discount for short spans, if not learned.")] = None,
    crossing: Annotated[
        float | None, typer.Option(max=0, help="Cost of a sentence end inside, if not learned.")
    ] = None,
    whole_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of a clause or sentence beside its best span.")
    ] = 1.0,
    part_share: Annotated[float, typer.Option(min=0, max=1, help="Share of a part beside its best span.")] = 1.0,
    context_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the part around within that of a clause or sentence.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Decides all that is drawn.")] = 13,
    write: Annotated[bool, typer.Option("--write", help="Write the parameters beside the weights.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Learn the parameters of the span score, from graded pairs that no encoder was trained with."""
    # Imported here, because importing torch takes seconds.
    from dataclasses import replace

    from models.encoders.span_scores import write_span_score
    from models.ops.span_score import COSINE
    from models.types import SpanBounds
    from research.training.sources import read_held_out_pairs
    from research.training.span_score import Grades, learn_span_score, read_contexts
    from research.training.texts import read_texts

    options = Settings().encoder_options
    folder = weights_folder(encoder, options)
    if folder is None:
        raise InvalidInput(f"{encoder} has no trained weights.", hint="Use slice or slice128.", field="encoder")
    encoders = Encoders(options)
    model, excluded = encoders.load(encoder), read_excluded(exclude)
    texts = replace(read_texts(data, excluded), pairs=read_held_out_pairs(data, excluded))
    with err.status(f"{encoder}: {min(pairs, len(texts.pairs)):,} pairs"):
        grades = Grades(read_contexts(model, texts, pairs, seed, SpanBounds()), seed)
        learned = learn_span_score(grades, discount, crossing)
    scores = {"cosine": COSINE, "present": encoders.span_score(encoder, model.fingerprint), "learned": learned}
    report = {name: {**asdict(score), **asdict(grades.fitness(score))} for name, score in scores.items()}
    if write:
        write_span_score(
            folder,
            model.fingerprint,
            replace(learned, whole_share=whole_share, part_share=part_share, context_share=context_share),
        )
    if as_json:
        print_json(report)
        return
    for name, row in report.items():
        out.print(
            f"{name}: Pearson {row['pearson']:.4f}, F1 {row['f1']:.4f}, {scores[name]}", soft_wrap=True, markup=False
        )
