"""The texts shipped weights may learn from: every reader names a set whose licence allows redistribution.

Readers know the files of a data folder by their relative paths; what the folder does not hold is an error.
"""

import csv
import gzip
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from models.errors import InvalidInput

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'“]?[A-Z])")


@dataclass(frozen=True, slots=True)
class GradedPair:
    """Two texts and how alike people found them, from 0 to 1."""

    query: str
    paraphrase: str
    score: float


@dataclass(frozen=True, slots=True)
class Source:
    """A set of texts, its licence, and how to read it from a data folder."""

    licence: str
    read: Callable[[Path], Iterator[str]]


def sentences(text: str) -> list[str]:
    """Cut prose where a sentence seems to end.

    >>> sentences("It rains. Take a coat, e.g. mine! Yes.")
    ['It rains.', 'Take a coat, e.g. mine!', 'Yes.']
    """
    return _SENTENCE_END.split(" ".join(text.split()))


def read_graded_pairs(folder: Path, excluded: Iterable[str] = ()) -> list[GradedPair]:
    """Pairs of the STS-B training split, but those with a sentence that is to be excluded."""
    return without(_stsb(folder / "stsb/sts-train.csv.gz"), excluded)


def read_forum_pairs(folder: Path) -> list[GradedPair]:
    """Those of them that are of forums: few, and unlike the others in that nearly all of their words are common."""
    return list(_stsb(folder / "stsb/sts-train.csv.gz", genre="main-forum"))


def read_held_out_pairs(folder: Path, excluded: Iterable[str] = ()) -> list[GradedPair]:
    """The same of the dev split, from which no encoder learns, though graders of pairs are weighed by it."""
    return without(_stsb(folder / "stsb/sts-dev.csv"), excluded)


def _stsb(path: Path, genre: str = "") -> Iterator[GradedPair]:
    rows = (line.rstrip("\n").split("\t") for line in lines(path))
    return (GradedPair(row[5], row[6], float(row[4]) / 5) for row in rows if genre in ("", row[0]))


def without(pairs: Iterable[GradedPair], excluded: Iterable[str]) -> list[GradedPair]:
    """The pairs that have none of the excluded sentences.

    >>> without([GradedPair("One!", "two", 0.5), GradedPair("Three", "four", 0.5)], ["one"])
    [GradedPair(query='Three', paraphrase='four', score=0.5)]
    """
    unwanted = {fold(text) for text in excluded}
    return [pair for pair in pairs if unwanted.isdisjoint((fold(pair.query), fold(pair.paraphrase)))]


def fold(text: str) -> str:
    """A text without case, punctuation and spacing, to tell whether two are the same sentence.

    >>> fold("A man, playing!") == fold("a man playing")
    True
    """
    return " ".join(re.findall(r"\w+", text.lower()))


def read_excluded(path: Path | None) -> list[str]:
    """The sentences of a file of STS-B-Context, of which no pair may be trained on; none where no file is named."""
    if path is None:
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            sentences_read = [
                text for row in csv.DictReader(file, delimiter="\t") for text in (row["line"], row["paraphrase"])
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _names_none(path, str(error)) from error
    except KeyError as error:
        raise _names_none(path, f"it lacks the column {error}") from error
    # An incomplete file would let its sentences into training unnoticed.
    if not sentences_read or not all(sentences_read):
        raise _names_none(path, "there is a row without a sentence" if sentences_read else "there are no rows in it")
    return sentences_read


def _names_none(path: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"{path} does not name the sentences to leave out: {why}.",
        hint="STS-B-Context is a TSV with the columns line and paraphrase.",
        field="exclude",
    )


def _wikipedia(folder: Path) -> Iterator[str]:
    for path in sorted((folder / "enwiki-extract").glob("*.txt.gz")):
        for number, line in enumerate(lines(path)):
            if number % 3 == 0 and len(line) > 200 and not line.startswith("<"):
                yield line.strip()


def _novels(folder: Path) -> Iterator[str]:
    for path in sorted((folder / "gutenberg").glob("*.txt.gz")):
        for paragraph in "".join(lines(path)).split("\n\n"):
            if len(paragraph) > 200:
                yield " ".join(paragraph.split())


def _speeches(folder: Path) -> Iterator[str]:
    with zipfile.ZipFile(need(folder / "nltk/state_union.zip")) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".txt"):
                yield from (line for line in archive.read(name).decode("latin-1").splitlines() if len(line) > 200)


def _policies(folder: Path) -> Iterator[str]:
    for name in ("github-site-policy.md.tar.gz", "legalmattic.md.tar.gz"):
        for text in members(folder / "policies" / name, ".md"):
            yield from (line.strip("#*- ") for line in text.splitlines() if len(line) > 80 and "|" not in line)


def _meetings(folder: Path) -> Iterator[str]:
    for text in members(folder / "qmsum/train.tar.gz", ".json"):
        turns = [turn["content"] for turn in json.loads(text)["meeting_transcripts"]]
        for begin in range(0, len(turns), 6):
            yield turn_text(" ".join(turns[begin : begin + 6]))


def turn_text(turn: str) -> str:
    """A turn of QMSum without its marks of noises and the white space before punctuation.

    >>> turn_text("Yeah , {disfmarker} it is n't .")
    "Yeah, it isn't."
    """
    return re.sub(r" (?=[.,?!']|n't)|\{\w+\} ?", "", turn).strip()


def _orders(folder: Path) -> Iterator[str]:
    for text in members(folder / "taskmaster4/TM-4-2024.data.tar.gz", ".json"):
        for dialogue in json.loads(text)[::4]:
            yield " ".join(turn["text"] for turn in dialogue["utterances"])


def _trivia(folder: Path) -> Iterator[str]:
    """Questions of the EfficientQA competition: not those of Natural Questions' dev split, which QED is made of."""
    for name in ("efficientqa.dev.1.1.jsonl", "efficientqa.test.1.1.jsonl.gz"):
        for line in lines(folder / "nq-open" / f"NQ-open.{name}"):
            yield json.loads(line)["question"]


def _meeting_questions(folder: Path) -> Iterator[str]:
    for text in members(folder / "qmsum/train.tar.gz", ".json"):
        yield from (row["query"] for row in json.loads(text)["specific_query_list"])


def _customers(folder: Path) -> Iterator[str]:
    for path in sorted((folder / "multidogo/splits_annotated_at_turn_level").glob("*/train.tsv.gz")):
        for row in csv.DictReader(lines(path), delimiter="\t", quoting=csv.QUOTE_NONE):
            yield row["utterance"] or ""


def _captions(folder: Path) -> Iterator[str]:
    for pair in snli_pairs(folder):
        yield from pair


def snli_pairs(folder: Path) -> Iterator[tuple[str, str]]:
    """Captions of SNLI, each with a sentence that people wrote to it."""
    for line in lines(folder / "snli/snli_1.0_dev.jsonl.gz"):
        row = json.loads(line)
        yield row["sentence1"], row["sentence2"]


def split_sentences(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Sentences of WikiSplit, each with the shorter ones that say the same."""
    for line in lines(folder / "wiki-split/tune.tsv.gz"):
        long, rewritten = line.rstrip("\n").split("\t")
        yield untokenized(long), [untokenized(sentence) for sentence in rewritten.split(" <::::> ")]


def untokenized(text: str) -> str:
    """A text without the white space that tokenizers put around punctuation.

    >>> untokenized("`` It ( the cat ) sat , '' he said .")
    '" It (the cat) sat, " he said.'
    """
    return re.sub(r" (?=[.,;:?!)])|(?<=\() ", "", text.replace("''", '"').replace("``", '"'))


def _short_sentences(folder: Path) -> Iterator[str]:
    for _, parts in split_sentences(folder):
        yield from parts


PROSE = {
    "enwiki-extract": Source("CC BY-SA 3.0", _wikipedia),
    "gutenberg": Source("public domain", _novels),
    "state_union": Source("public domain", _speeches),
    "policies": Source("CC BY-SA 4.0, CC0 1.0", _policies),
    "qmsum": Source("MIT", _meetings),
    "taskmaster4": Source("CC BY 4.0", _orders),
}
PHRASES = {
    "multidogo": Source("CDLA-Permissive", _customers),
    "snli": Source("CC BY-SA 4.0", _captions),
    "wiki-split": Source("CC BY-SA 4.0", _short_sentences),
}
QUESTIONS = {
    "nq-open": Source("CC BY-SA 3.0", _trivia),
    "qmsum": Source("MIT", _meeting_questions),
}


def lines(path: Path) -> Iterator[str]:
    """The lines of a file of a data folder, in gzip or plain; an error that names the file where there is none."""
    open_text = gzip.open if path.suffix == ".gz" else open
    with open_text(need(path), "rt", encoding="utf-8", errors="replace") as file:
        yield from file


def need(path: Path) -> Path:
    """A file of a data folder that must be there."""
    if not path.is_file():
        raise InvalidInput(
            f"The data folder lacks {path.parent.name}/{path.name}.",
            hint="Training reads the sets named in research/training/sources.py from one folder.",
            field="data",
        )
    return path


def members(path: Path, suffix: str) -> Iterator[str]:
    """The texts of the files of an archive whose names end so."""
    with tarfile.open(need(path)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(suffix) else None
            if file:
                yield io.TextIOWrapper(file, "utf-8", errors="replace").read()
