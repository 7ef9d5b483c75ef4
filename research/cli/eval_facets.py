"""``spanseek eval facets-...``: sentences, phrases, hypernyms, summaries and examples of facets."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from app.cli.console import JsonOption, out, print_json
from research.cli.training_options import SeedOption
from spanseek_facets.settings import SHIPPED

if TYPE_CHECKING:
    from spanseek_facets.model import FacetModel
    from spanseek_facets.word_vectors import WordVectors

WordsOption = Annotated[Path | None, typer.Option(help="Word vectors of the facets; by default those shipped.")]
ModelOption = Annotated[
    list[Path] | None, typer.Option(help="Folder of facet weights, by default those shipped; repeat for several.")
]
# One facet is of the paper's table alone, and is not in the product.
_RESEARCH = Path(__file__).parents[1] / "weights"
SENTENCES, PHRASES = (_RESEARCH / "facets-k1", SHIPPED / "facets-k10"), (SHIPPED / "facets-phrases",)
DataOption = Annotated[Path, typer.Option(help="Folder of the known sets.")]


def eval_facets_sentences(
    data: DataOption,
    words: WordsOption = None,
    model: ModelOption = None,
    split: Annotated[
        Literal["dev", "test"], typer.Option(help="dev, by which to choose, or test, to report only.")
    ] = "dev",
    alpha: Annotated[float, typer.Option(min=0, help="Share of a word that counts half; the paper has 0.0001.")] = 1e-3,
    as_json: JsonOption = False,
) -> None:
    """STS-B by facets, and by words with and without importance weights: Table 2 of the paper."""
    from models.encoders.registry import load_encoder
    from research.evaluation.facets import evaluate_sentence_facets
    from research.evaluation.sts import SETS, find_file

    vectors, models = _load(words, model)
    path = find_file(data, SETS["stsb"], split)
    pairs = SETS["stsb"].read(path)
    figures = evaluate_sentence_facets(pairs, vectors, models, load_encoder("untrained"), alpha)
    if as_json:
        print_json({"file": path.name, "pairs": len(pairs), "pearson": figures})
        return
    table = Table("score", "weights", "all", "low", "over the first", title=f"{path.name}: Pearson x 100")
    for score, rows in figures.items():
        for name, row in rows.items():
            table.add_row(score, name, f"{row['all']:.1f}", f"{row['low']:.1f}", _cell(row, "gain"))
    out.print(table)


def eval_facets_phrases(
    data: DataOption, words: WordsOption = None, model: ModelOption = None, as_json: JsonOption = False
) -> None:
    """BiRD, WikiSRS, SemEval-2013 and Turney by facets and by baselines: Tables 4 and 9 of the paper."""
    from models.encoders.registry import load_encoder
    from research.evaluation.phrase_facets import evaluate_phrase_facets

    vectors, models = _load(words, model, PHRASES)
    figures = evaluate_phrase_facets(data, vectors, models, load_encoder("untrained"))
    if as_json:
        print_json({"sets": figures})
        return
    table = Table("set", *figures)
    for name in next(iter(figures.values())):
        table.add_row(name, *(f"{row[name]:.1f}" for row in figures.values()))
    out.print(table)


def eval_facets_hypernyms(
    data: Annotated[Path, typer.Option(help="A split of HypeNET: two phrases and True or False, with tabs.")],
    words: WordsOption = None,
    model: ModelOption = None,
    as_json: JsonOption = False,
) -> None:
    """HypeNET: which of two phrases is the more general one, by facets: Table 5 of the paper."""
    from research.evaluation.phrase_facets import evaluate_hypernyms

    _, models = _load(words, model, PHRASES)
    figures = {name: evaluate_hypernyms(data, loaded) for name, loaded in models.items()}
    if as_json:
        print_json({"file": data.name, "models": figures})
        return
    table = Table("model", "pairs", "hypernyms", "direction %", "known", "direction %", "AUC %", title=data.name)
    for name, row in figures.items():
        table.add_row(name, *(f"{row[figure]:,.1f}".removesuffix(".0") for figure in row))
    out.print(table)


def eval_facets_examples(
    text: Annotated[list[str], typer.Option(help="A text to show; repeat for several.")],
    words: WordsOption = None,
    model: ModelOption = None,
    nearest: Annotated[int, typer.Option(min=1, help="Words for each facet.")] = 3,
    as_json: JsonOption = False,
) -> None:
    """The words nearest to every facet of some texts, with their cosines: Table 1 of the paper."""
    vectors, models = _load(words, model)
    shown = {
        name: {one: vectors.nearest(facets, nearest) for one, facets in zip(text, loaded.encode(text), strict=True)}
        for name, loaded in models.items()
    }
    if as_json:
        print_json({"models": shown})
        return
    for name, texts in shown.items():
        for one, facets in texts.items():
            out.print(f"{name}: {one}", markup=False)
            for number, row in enumerate(facets, 1):
                out.print(f"  {number:2d}  " + "  ".join(f"{word} {cosine:.3f}" for word, cosine in row), markup=False)


def eval_facets_summaries(
    extract: Annotated[Path, typer.Option(help="Folder of a Wikipedia extract.")],
    words: WordsOption = None,
    model: ModelOption = None,
    articles: Annotated[int, typer.Option(min=1, help="Read the first so many held-out articles that fit.")] = 500,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences of a summary.")] = 3,
    seed: SeedOption = 13,
    as_json: JsonOption = False,
) -> None:
    """Summaries of held-out articles' bodies against their leads: Table 3 of the paper."""
    from research.evaluation.facet_summaries import evaluate_summaries, summarised_articles
    from research.evaluation.wikipedia import read_articles

    vectors, models = _load(words, model)
    read = summarised_articles(read_articles(extract), articles)
    figures = evaluate_summaries(read, vectors, models, sentences, seed)
    if as_json:
        print_json({"articles": len(read), "sentences": sentences, "methods": figures})
        return
    title = f"{len(read)} articles, {sentences} sentences each"
    table = Table("method", "ROUGE-1", "the last's gain", "ROUGE-2", "the last's gain", "words", title=title)
    for name, row in figures.items():
        one, two, length = (f"{row[figure]:.1f}" for figure in ("rouge1", "rouge2", "words"))
        table.add_row(name, one, _cell(row, "rouge1_behind"), two, _cell(row, "rouge2_behind"), length)
    out.print(table)


def _cell(row: Mapping[str, float], name: str) -> str:
    """A gain, and the lower bound of it; empty for the row that others are compared with."""
    return f"{row[name]:+.1f} ({row[f'{name}_lower']:+.1f})" if name in row else ""


def _load(
    words: Path | None, folders: list[Path] | None, shipped: Sequence[Path] = SENTENCES
) -> "tuple[WordVectors, dict[str, FacetModel]]":
    """The word vectors, and the models by the names of their folders."""
    from research.training.word_vector_files import read_word_vectors
    from spanseek_facets.model import load_facets

    vectors = read_word_vectors(words or SHIPPED / "facets-words")
    return vectors, {folder.name: load_facets(folder, vectors) for folder in folders or shipped}
