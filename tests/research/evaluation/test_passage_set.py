"""The passage re-ranking set: what a task is made of, and that the seed decides it."""

import gzip
import json
from pathlib import Path

import pytest

from indexer.errors import SourceUnreadable
from models.encoders.hashing import HashingEncoder
from models.encoders.registry import load_nuggets
from models.errors import InvalidInput
from research.evaluation.paraphrase_identification import evaluate_paraphrases
from research.evaluation.passage_set import CANDIDATES, PassageSet, Recipe, make_passage_set, read_passage_tasks
from research.evaluation.wikipedia import Article, Section, is_heading, read_articles

RECIPE = Recipe(tasks=5, shortest=4, longest=12)


def articles(count: int = 30) -> list[Article]:
    """All about rivers; each with words of its own, which its sections share."""
    made = []
    for number in range(count):
        own = f"name{number} place{number}"
        sections = [Section("", [f"The river {own} is long."])]
        sections += [Section("Course", [f"The river {own} flows through bend{n}."]) for n in range(2)]
        sections += [Section("Short", ["River."]), Section("Long", [f"The river {own} " * 10])]
        made.append(Article(f"River {number}", tuple(sections)))
    return made


@pytest.fixture(scope="module")
def made() -> PassageSet:
    return make_passage_set(articles(), RECIPE)


def test_a_task_has_one_right_section_and_19_of_other_articles(made: PassageSet) -> None:
    assert len(made.tasks) == 5
    for task in made.tasks:
        own = f"name{task.lead} "
        assert own in made.leads[task.lead]
        assert len(set(task.candidates)) == CANDIDATES
        found = [own in made.sections[candidate] for candidate in task.candidates]
        assert found.count(True) == 1
        assert found.index(True) == task.answer
        assert all(RECIPE.fits(made.sections[candidate]) for candidate in task.candidates)
    assert len({task.answer for task in made.tasks}) > 1


def test_wrong_sections_are_those_most_like_the_lead(made: PassageSet) -> None:
    """The lead shares two words with every section, and those of unlike articles nothing else."""
    strangers = [
        Article("Stone", (Section("", ["A stone is a stone."]), Section("Use", ["Walls are built of stones."])))
    ]
    again = make_passage_set([*articles(), *strangers * 40], RECIPE)
    for task in again.tasks:
        if "river" in again.leads[task.lead]:
            assert all("river" in again.sections[candidate] for candidate in task.candidates)


def test_the_seed_decides_everything(made: PassageSet) -> None:
    assert make_passage_set(articles(), RECIPE) == made
    other = make_passage_set(articles(), Recipe(tasks=5, seed=14, shortest=4, longest=12))
    assert other.tasks != made.tasks


def test_too_few_articles_are_told(made: PassageSet) -> None:
    for few in ([], articles(3)):
        with pytest.raises(InvalidInput, match="not 5") as caught:
            make_passage_set(few, RECIPE)
        assert caught.value.hint


def test_what_is_written_is_read_and_can_be_measured(made: PassageSet, tmp_path: Path) -> None:
    made.write(tmp_path)
    tasks = read_passage_tasks(tmp_path)
    for task, written in zip(tasks.tasks, made.tasks, strict=True):
        assert tasks.texts[task.source] == made.leads[written.lead]
        assert [tasks.texts[each] for each in task.candidates] == [made.sections[each] for each in written.candidates]
        assert task.answer == written.answer
    few = read_passage_tasks(tmp_path, 2)
    assert len(few.tasks) == 2
    assert len(few.texts) < len(tasks.texts)
    assert few.texts[few.tasks[1].source] == tasks.texts[tasks.tasks[1].source]
    encoder = HashingEncoder()
    report = evaluate_paraphrases(load_nuggets("hashing", base=encoder), encoder, tasks, 1.0)
    assert report.as_json()["baselines"]["all_tokens"] > 50
    assert len((tmp_path / "task.jsonl").read_text("utf-8").splitlines()) == 5
    assert json.loads((tmp_path / "task.jsonl").read_text("utf-8").splitlines()[0]).keys() == {
        "source", "candidates", "answer",
    }  # fmt: skip


def test_a_folder_without_tasks(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no task\.jsonl") as caught:
        read_passage_tasks(tmp_path)
    assert "build-passages" in caught.value.hint


def test_articles_of_an_extract(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable):
        list(read_articles(tmp_path))
    text = """<doc id="1" url="u" title="Tea &amp; milk">
Tea &amp; milk

A drink. It is hot.
History.
It is old. Very old.
In China.

</doc>
<doc id="2" url="u" title="Nothing">
Nothing

</doc>
"""
    with gzip.open(tmp_path / "AA.txt.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    (article,) = read_articles(tmp_path)
    assert article.title == "Tea & milk"
    # What ends an article is no heading, though it looks like one.
    assert [(each.heading, each.paragraphs) for each in article.sections] == [
        ("", ["A drink. It is hot."]),
        ("History", ["It is old. Very old.", "In China."]),
    ]


@pytest.mark.parametrize("line", ["Early life and career.", "1881.", "Version 2.0.", "Under X: 1881."])
def test_headings(line: str) -> None:
    assert is_heading(line)


@pytest.mark.parametrize("line", ["No stop", "One. Two.", "What?", ".", "A word " * 11 + "."])
def test_no_headings(line: str) -> None:
    assert not is_heading(line)
