"""WikiText's articles, and what is kept away from them; sentences that nothing is learnt from."""

import gzip
from pathlib import Path

import pytest

from indexer.errors import SourceUnreadable
from research.evaluation.wikipedia import (
    Article,
    Section,
    held_out_sentences,
    is_held_out,
    long_texts,
    single_sentences,
)
from research.evaluation.wikitext import apart_from, read_wikitext

LINES = " \n = Tea = \n \n Tea @,@ <unk> , 2 @.@ 5 . \n \n = = Age = = \n \n Old . \n = Rain = \n \n It falls . \n"


@pytest.mark.parametrize("packed", [True, False])
def test_articles_are_read_whole(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("test.txt.gz" if packed else "test.txt")
    path.write_bytes(gzip.compress(LINES.encode()) if packed else LINES.encode())
    assert read_wikitext(path) == ["Tea\nTea,<unk> , 2.5 .\nAge\nOld .", "Rain\nIt falls ."]


@pytest.mark.parametrize("content", [None, b"", b"no heading\n", b"\xff\xfe = a = \n"])
def test_what_is_no_wikitext_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "test.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SourceUnreadable, match="no articles of WikiText"):
        read_wikitext(path)


def test_a_shared_run_of_words_keeps_a_text_out() -> None:
    tested = ["It was the best of times , it was the <unk> of times"]
    texts = [
        "They say: it was the best of times!",
        "It was the worst of times, the best of all",
        "of times it was the of",
    ]
    assert list(apart_from(texts, tested, run=6)) == [texts[1]]


def test_sentences_and_long_texts() -> None:
    article = Article(
        "Tea", (Section("", ["Tea is hot. It is made of dried leaves in water."]), Section("Age", ["Old."]))
    )
    assert list(single_sentences([article], 5, 20)) == ["It is made of dried leaves in water."]
    assert list(long_texts([article], 14)) == ["Tea\nTea is hot. It is made of dried leaves in water.\nAge\nOld."]
    assert list(long_texts([article], 15)) == []


def test_one_sentence_of_every_article_that_is_held_out(tmp_path: Path) -> None:
    titles = [f"Article {number}" for number in range(60)]
    said = "This one speaks about a thing that is called {} by all who know it."
    pages = [
        f'<doc id="1" url="u" title="{title}">\n{title}\n\n{said.format(title)} {said}\n</doc>\n' for title in titles
    ]
    (tmp_path / "AA.gz").write_bytes(gzip.compress("".join(pages).encode()))
    held_out = [title for title in titles if is_held_out(Article(title, ()))]
    assert 0 < len(held_out) < 20
    assert list(held_out_sentences(tmp_path)) == [said.format(title) for title in held_out]
