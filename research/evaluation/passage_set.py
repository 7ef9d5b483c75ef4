"""The passage re-ranking set of the Nugget paper (appendix A.2), made of a Wikipedia extract.

A task is the lead section of an article, and twenty other sections one of which is of the same article; the nineteen
wrong ones are those of other articles that BM25 finds most like the lead. It is written in the form in which the
paper's authors publish theirs, so that ``research.evaluation.paraphrase_identification`` reads it.
"""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.errors import InvalidInput
from research.evaluation.bm25 import Bm25
from research.evaluation.paraphrase_identification import Task, Tasks, read_tasks
from research.evaluation.wikipedia import Article

CANDIDATES = 20
# How many of BM25's best are looked through for sections of other articles.
_MOST_FOUND = 200


@dataclass(frozen=True, slots=True)
class Recipe:
    """Number of tasks, seed of their draw, and bounds of a passage's words: longer ones are left out, not cut."""

    tasks: int = 1_024
    seed: int = 13
    shortest: int = 50
    longest: int = 400

    def fits(self, passage: str) -> bool:
        """True if a text is long enough to say something, and short enough to be a passage."""
        return self.shortest <= len(passage.split()) <= self.longest


@dataclass(frozen=True, slots=True)
class PassageTask:
    """Numbers of passages: the lead that asks, the sections to choose from, and the place of the right one."""

    lead: int
    candidates: tuple[int, ...]
    answer: int


@dataclass(frozen=True, slots=True)
class PassageSet:
    """Leads, sections, and the tasks made of them."""

    leads: tuple[str, ...]
    sections: tuple[str, ...]
    tasks: tuple[PassageTask, ...]

    def write(self, folder: Path) -> None:
        """Write ``docs.txt`` (id, tab, text) and ``task.jsonl``, with the passages alone that a task has."""
        folder.mkdir(parents=True, exist_ok=True)
        leads = sorted({task.lead for task in self.tasks})
        sections = sorted({section for task in self.tasks for section in task.candidates})
        lines = [f"L{number}\t{self.leads[number]}\n" for number in leads]
        lines += [f"R{number}\t{self.sections[number]}\n" for number in sections]
        _write(folder / "docs.txt", lines)
        _write(folder / "task.jsonl", (json.dumps(_as_json(task)) + "\n" for task in self.tasks))


def make_passage_set(articles: Iterable[Article], recipe: Recipe) -> PassageSet:
    """The set of articles; the same recipe gives the same one.

    Raises ``InvalidInput`` where the articles are too few for so many tasks.
    """
    passages = [_passages(article, recipe) for article in articles]
    leads = tuple(lead for lead, _ in passages)
    owners = [number for number, (_, sections) in enumerate(passages) for _ in sections]
    sections = tuple(section for _, of_article in passages for section in of_article)
    rng = random.Random(recipe.seed)  # noqa: S311
    asking = [number for number, (lead, own) in enumerate(passages) if own and recipe.fits(lead)]
    rng.shuffle(asking)
    tasks = tuple(_tasks(rng, asking, leads, sections, owners, recipe.tasks))
    if len(tasks) < recipe.tasks:
        raise InvalidInput(
            f"These articles give {len(tasks)} tasks, not {recipe.tasks}.",
            hint="Give more articles, ask for fewer tasks, or allow passages of other lengths.",
            field="tasks",
        )
    return PassageSet(leads, sections, tasks)


def read_passage_tasks(folder: Path, limit: int | None = None, skip: int = 0) -> Tasks:
    """Read what :meth:`PassageSet.write` wrote: so many tasks after the first ones, and their passages alone.

    Raises ``InvalidInput`` for another form.
    """
    if not (folder / "task.jsonl").is_file():
        raise InvalidInput(
            f"There is no task.jsonl in {folder}.",
            hint="`spanseek eval build-passages` makes the folder of a Wikipedia extract.",
            field="data",
        )
    whole = read_tasks(folder, "dev")
    tasks = whole.tasks[skip:][:limit]
    used = sorted({number for task in tasks for number in (task.source, *task.candidates)})
    at = {number: place for place, number in enumerate(used)}
    selected = [Task(at[task.source], tuple(at[each] for each in task.candidates), task.answer) for task in tasks]
    return Tasks([whole.texts[number] for number in used], selected)


def _passages(article: Article, recipe: Recipe) -> tuple[str, list[str]]:
    """The lead of an article, and those of its other sections that are passages."""
    texts = [" ".join(section.paragraphs) for section in article.sections]
    return texts[0], [text for text in texts[1:] if recipe.fits(text)]


def _tasks(
    rng: random.Random,
    asking: Sequence[int],
    leads: Sequence[str],
    sections: Sequence[str],
    owners: Sequence[int],
    count: int,
) -> Iterator[PassageTask]:
    own: dict[int, list[int]] = {}
    for section, owner in enumerate(owners):
        own.setdefault(owner, []).append(section)
    index = Bm25(sections) if count and asking else None
    made = 0
    for article in asking:
        if made == count or index is None:
            return
        # The article's own sections are passed over: of so many candidates enough are left.
        nearest = index.best(leads[article], _MOST_FOUND)
        wrong = [section for section in nearest if owners[section] != article][: CANDIDATES - 1]
        if len(wrong) == CANDIDATES - 1:
            right = rng.choice(own[article])
            candidates = [right, *wrong]
            rng.shuffle(candidates)
            made += 1
            yield PassageTask(article, tuple(candidates), candidates.index(right))


def _as_json(task: PassageTask) -> dict[str, Any]:
    return {
        "source": f"L{task.lead}",
        "candidates": [f"R{number}" for number in task.candidates],
        "answer": task.answer,
    }


def _write(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)
