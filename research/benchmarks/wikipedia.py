"""Articles of a Wikipedia extract (WikiExtractor's form) as documents that can be indexed: real text in any amount.

    python -m research.benchmarks.wikipedia --extract FOLDER --out articles.ndjson [--articles 10000]

A paragraph is a part. The title, which WikiExtractor repeats as the first line, becomes metadata.
"""

import argparse
import gzip
import html
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

_BEGIN = re.compile(r'<doc id="(?P<id>[^"]*)" url="[^"]*" title="(?P<title>.*)">$')
_END = "</doc>"


def articles(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The articles of an extract, each as one line of ``spanseek index``'s NDJSON; those without a text are left out.

    >>> list(articles(['<doc id="7" url="u" title="Tea &amp; milk">', "Tea & milk", "", "A drink.", "</doc>"]))
    [{'id': 'wikipedia-7', 'parts': [{'text': 'A drink.'}], 'metadata': {'title': 'Tea & milk'}}]
    """
    id, title = "", ""
    paragraphs: list[str] = []
    for line in map(str.strip, lines):
        if begin := _BEGIN.match(line):
            id, title, paragraphs = begin["id"], html.unescape(begin["title"]), []
        elif line == _END:
            parts = [{"text": paragraph} for paragraph in paragraphs if paragraph != title]
            if parts:
                yield {"id": f"wikipedia-{id}", "parts": parts, "metadata": {"title": title}}
        elif line:
            paragraphs.append(html.unescape(line))


def lines_of(folder: Path) -> Iterator[str]:
    """All lines of the gzipped files of a folder, in the order of their names."""
    return chain.from_iterable(map(_lines, sorted(folder.glob("*.gz"))))


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extract", type=Path, required=True, help="folder of *.gz files")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--articles", type=int, default=None, help="only the first so many")
    given = parser.parse_args()
    count = 0
    with given.out.open("w", encoding="utf-8") as file:
        for article in islice(articles(lines_of(given.extract)), given.articles):
            file.write(json.dumps(article, ensure_ascii=False) + "\n")
            count += 1
    print(f"{count:,} articles")


if __name__ == "__main__":
    main()
