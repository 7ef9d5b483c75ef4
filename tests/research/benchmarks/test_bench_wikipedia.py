"""Articles from a Wikipedia extract."""

import gzip
import json
import sys

from indexer.sources import Source
from models.types import Document
from research.benchmarks import wikipedia

EXTRACT = """<doc id="1" url="u?curid=1" title="Tea">
Tea

Tea is a drink.
History.
It is old &amp; known.
</doc>
<doc id="2" url="u?curid=2" title="Empty">
Empty
</doc>
<doc id="3" url="u?curid=3" title="The "Cup"">
The "Cup"

Tea
</doc>
"""


def test_articles_can_be_indexed(tmp_path, monkeypatch, capsys) -> None:
    lines = EXTRACT.splitlines(keepends=True)
    first, second = "".join(lines[:4]), "".join(lines[4:])
    for name, text in (("AB.txt.gz", second), ("AA.txt.gz", first)):
        with gzip.open(tmp_path / name, "wt", encoding="utf-8") as file:
            file.write(text)
    out = tmp_path / "articles.ndjson"
    monkeypatch.setattr(sys, "argv", ["wikipedia", "--extract", str(tmp_path), "--out", str(out)])
    wikipedia.main()
    assert capsys.readouterr().out == "2 articles\n"
    tea, cup = (record for record in Source(out) if isinstance(record, Document))
    assert (tea.id, tea.text) == ("wikipedia-1", "Tea is a drink.\nHistory.\nIt is old & known.")
    assert cup.metadata == {"title": 'The "Cup"'}
    assert cup.text == "Tea"


def test_only_the_first_articles(tmp_path, monkeypatch) -> None:
    with gzip.open(tmp_path / "AA.txt.gz", "wt", encoding="utf-8") as file:
        file.write(EXTRACT)
    out = tmp_path / "articles.ndjson"
    monkeypatch.setattr(sys, "argv", ["wikipedia", "--extract", str(tmp_path), "--out", str(out), "--articles", "1"])
    wikipedia.main()
    assert [json.loads(line)["id"] for line in out.read_text("utf-8").splitlines()] == ["wikipedia-1"]
