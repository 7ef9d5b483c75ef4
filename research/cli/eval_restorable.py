"""``spanseek eval restorable`` and ``restorable-retrieval``: texts back from vectors, and what restoration is worth."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from app.cli.console import JsonOption, out, print_json
from models.artifacts import SHIPPED

DataOption = Annotated[Path, typer.Option(help="Folder of the known sets.")]
ModelOption = Annotated[
    list[Path] | None, typer.Option(help="Folder of restorable weights, by default those shipped; repeat for several.")
]


def eval_restorable(
    data: DataOption,
    model: ModelOption = None,
    source: Annotated[
        list[str] | None, typer.Option(help="sgd, multiwoz, taskmaster, multidogo, wikipedia; repeat for several.")
    ] = None,
    split: Annotated[
        Literal["dev", "test"], typer.Option(help="dev, by which to choose, or test, to report only.")
    ] = "dev",
    length: Annotated[list[int] | None, typer.Option(min=1, help="Sentences of a text; repeat for several.")] = None,
    texts: Annotated[int, typer.Option(min=1, help="Texts of each source and length.")] = 500,
    beams: Annotated[int, typer.Option(min=1, help="Beams of the search.")] = 1,
    unseen: Annotated[
        bool,
        typer.Option(help="Leave out texts with a sentence of training texts, whatever its names and numbers."),
    ] = False,
    examples: Annotated[int, typer.Option(min=0, help="Show so many texts that did not come back exactly.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Restore held-out sentences: perplexity, ROUGE and exact matches, Tables 2 and 3 of the paper."""
    from research.evaluation.restoration import evaluate_restoration
    from research.restorable.assembly import load_variant
    from research.training.restorable_data import held_out_texts

    rows = []
    for folder in model or [SHIPPED / "restorable"]:
        restorer = load_variant(folder)
        for name in source or ["sgd", "wikipedia"]:
            for count in length or [1]:
                chosen = held_out_texts(data, name, split, count, texts, unseen=unseen)
                found = evaluate_restoration(restorer, chosen, beams)
                differing = [
                    {"text": text, "restored": each.text, "confidence": round(each.confidence, 3)}
                    for text, each in zip(found.texts, found.restorations, strict=True)
                    if text != each.text
                ]
                facts = {"model": str(folder), "source": name, "split": split, "sentences": count, "beams": beams}
                rows.append(facts | found.figures | {"intervals": found.bounds, "examples": differing[:examples]})
    if as_json:
        print_json(rows)
        return
    _print(rows)


def eval_restorable_retrieval(
    data: DataOption,
    model: Annotated[Path | None, typer.Option(help="Folder of restorable weights, by default those shipped.")] = None,
    split: Annotated[
        Literal["dev", "test"], typer.Option(help="dev, a fifth of the training questions, or test, to report only.")
    ] = "dev",
    pairs: Annotated[
        int, typer.Option(min=0, help="Learn from so many sentences of Wikipedia and their paragraphs, too.")
    ] = 0,
    steps: Annotated[int, typer.Option(min=0, help="Steps of a bi-encoder; 0 measures both beginnings.")] = 200,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate.")] = 3e-4,
    batch: Annotated[int, typer.Option(min=2, help="Questions of a step.")] = 48,
    seed: Annotated[list[int] | None, typer.Option(help="Decides what is drawn; repeat for several.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Recall of passages by bi-encoders that are trained from restoration and without it: Table 4 of the paper."""
    from research.evaluation.question_passages import cloze_pairs, development, read_questions, with_pairs
    from research.evaluation.restorable_retrieval import evaluate_restorable_retrieval
    from research.restorable.assembly import load_variant
    from research.training.bi_encoder import BiEncoderConfig
    from research.training.loop import Schedule
    from research.training.restorable_data import read_passages

    learned, measured = read_questions(data)
    if split == "dev":
        learned, measured = development(learned)
    if pairs:
        learned = with_pairs(learned, cloze_pairs(read_passages(data, "wikipedia", "train"), pairs))
    config = BiEncoderConfig(Schedule(steps=steps, rate=rate), batch)
    figures = evaluate_restorable_retrieval(
        load_variant(model or SHIPPED / "restorable"), learned, measured, config, seed or [13]
    )
    if as_json:
        print_json(figures)
        return
    table = Table("set", "begins with", "recall@1", "@5", "@20", "@100", "gain at 20", title="Recall x 100")
    for name, row in figures.items():
        for begin in ("plain", "restored"):
            values: Any = row[begin]
            gain: Any = row["gain"]
            last = f"{gain['recall@20']:+.1f} (at least {gain['lower']:+.1f})" if begin == "restored" else ""
            table.add_row(name, begin, *(f"{value:.1f}" for value in values.values()), last)
    out.print(table)


_COLUMNS = {
    "source": "source",
    "sentences": "sentences",
    "texts": "texts",
    "too_long": "too long",
    "perplexity": "PPL",
    "rouge1": "R-1",
    "rouge2": "R-2",
    "rougeL": "R-L",
    "exact": "exact",
    "sure": "sure",
    "exact_if_sure": "exact if sure",
}


def _print(rows: list[dict[str, object]]) -> None:
    table = Table("model", *_COLUMNS.values(), title="Restored texts")
    for row in rows:
        table.add_row(Path(str(row["model"])).name, *(f"{row[name]}" for name in _COLUMNS))
    out.print(table)
    for row in rows:
        for example in row["examples"] if isinstance(row["examples"], list) else ():
            out.print(f"{example['text']}\n  -> {example['restored']}  ({example['confidence']})", markup=False)
