"""Counts of hits by metadata as tables."""

from rich.table import Table
from rich.text import Text

from app.cli.console import counted, one_line
from app.search.answers import Bucket, KeyCounts


def counts_table(counts: KeyCounts) -> Table:
    """A row for each bucket, and beneath them what is in none."""
    table = Table()
    for name in (counts.key, "hits", "documents"):
        table.add_column(Text(one_line(name)))
    for bucket in counts.buckets:
        table.add_row(Text(_label(bucket)), f"{bucket.hits:,}", f"{bucket.documents:,}")
    notes = []
    if counts.distinct > len(counts.buckets):
        notes.append(f"{len(counts.buckets)} of {counts.distinct:,} are shown")
    if counts.without:
        notes.append(f"{counted(counts.without, 'hit')} without it")
    table.caption = "; ".join(notes)
    return table


def _label(bucket: Bucket) -> str:
    """The value, or the range.

    >>> _label(Bucket(3, 2, at_least=60.0, below=600.0)), _label(Bucket(3, 2, below=60.0))
    ('60 to 600', 'under 60')
    """
    if bucket.at_least is None and bucket.below is None:
        return one_line(str(bucket.value))
    if bucket.at_least is None:
        return f"under {bucket.below:g}"
    return f"{bucket.at_least:g} and over" if bucket.below is None else f"{bucket.at_least:g} to {bucket.below:g}"
