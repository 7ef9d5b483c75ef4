"""Words of files that are lost or garbled, against independent readers.

    python -m research.evaluation.source_words FILES...

Readers are programs of the system: ``pdftotext`` (poppler), ``pandoc``, ``soffice`` (LibreOffice) and ``chromium``;
those that are not installed are left out. A word is **lost** if every reader has it more often than Spanseek, and
**garbled**
if Spanseek has it more often than every reader. Shares are of the words of all readers, which may be wrong themselves:
they print numbers of pages, alternative texts and marks of notes where others do not.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indexer.sources import Source
from models.types import Document

_WORD: Final = re.compile(r"\w+")
_HYPHEN: Final = re.compile(r"(?<=\w)[-\u00ad\u2010\u2011]\s*\n\s*(?=[^\W\d_])")
_JOINERS: Final = re.compile(r"[\u00ad\u200b-\u200d\u2060\ufeff]")
_SECONDS: Final = 120


@dataclass(frozen=True, slots=True)
class Compared:
    """Words of one file: those of the readers, and how many are lost and garbled."""

    name: str
    readers: tuple[str, ...]
    words: int
    lost: Counter[str]
    garbled: Counter[str]


def counted_words(text: str) -> Counter[str]:
    """The folded words of a text; one that a hyphen parts at the end of a line is one word.

    >>> sorted(counted_words("Sub-\\nscription, SUBSCRIPTION of ﬁne").items())
    [('fine', 1), ('of', 1), ('subscription', 2)]
    """
    folded = unicodedata.normalize("NFKC", _JOINERS.sub("", _HYPHEN.sub("", text))).lower()
    return Counter(_WORD.findall(folded))


def compared(name: str, own: Counter[str], others: dict[str, Counter[str]]) -> Compared:
    """What is lost and garbled.

    >>> own, others = Counter("aab"), {"x": Counter("abc"), "y": Counter("abbc")}
    >>> result = compared("file", own, others)
    >>> result.words, dict(result.lost), dict(result.garbled)
    (3, {'c': 1}, {'a': 1})
    """
    every, most = Counter[str](), Counter[str]()
    for number, words in enumerate(others.values()):
        every = every & words if number else words
        most |= words
    return Compared(name, tuple(others), every.total(), every - own, own - most)


def own_words(path: Path) -> Counter[str]:
    """The words that Spanseek reads."""
    return counted_words("\n".join(record.text for record in Source(path) if isinstance(record, Document)))


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)  # noqa: S603
    return done.stdout.decode("utf-8", "replace")


def _poppler(path: Path) -> str:
    return _output("pdftotext", "-enc", "UTF-8", str(path), "-")


def _raw_poppler(path: Path) -> str:
    return _output("pdftotext", "-raw", "-enc", "UTF-8", str(path), "-")


def _pandoc(path: Path) -> str:
    return _output("pandoc", "--to=plain", "--wrap=none", str(path))


def _libreoffice(path: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        profile = f"-env:UserInstallation=file://{folder}/profile"
        _output("soffice", profile, "--headless", "--convert-to", "pdf", "--outdir", folder, str(path))
        return _poppler(Path(folder) / f"{path.stem}.pdf")


def _chromium(path: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder) / "page.pdf"
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer")
        _output("chromium", *options, f"--print-to-pdf={printed}", path.resolve().as_uri())
        return _poppler(printed)


_READERS: Final[dict[str, tuple[Callable[[Path], str], str, tuple[str, ...]]]] = {
    "poppler": (_poppler, "pdftotext", (".pdf",)),
    "poppler, as drawn": (_raw_poppler, "pdftotext", (".pdf",)),
    "pandoc": (_pandoc, "pandoc", (".docx", ".odt", ".epub", ".rtf", ".html", ".htm")),
    "LibreOffice": (_libreoffice, "soffice", (".docx", ".odt", ".rtf", ".docm")),
    "Chromium": (_chromium, "chromium", (".html", ".htm")),
}


def readers(path: Path) -> Iterator[tuple[str, Counter[str]]]:
    """The words of a file by every reader that is installed and can read it."""
    for name, (read, program, endings) in _READERS.items():
        if path.suffix.lower() in endings and shutil.which(program):
            try:
                yield name, counted_words(read(path))
            except (subprocess.SubprocessError, OSError):
                continue


def table(results: Sequence[Compared]) -> Iterator[str]:
    """The results as a table of Markdown, with a last line for all of them."""
    yield "| file | readers | words | lost | garbled |"
    yield "|---|---|---|---|---|"
    for one in results:
        yield _row(one.name, ", ".join(one.readers), one.words, one.lost.total(), one.garbled.total())
    lost, garbled = (sum(getattr(one, name).total() for one in results) for name in ("lost", "garbled"))
    yield _row("**all**", "", sum(one.words for one in results), lost, garbled)


def _row(name: str, of: str, words: int, lost: int, garbled: int) -> str:
    return f"| {name} | {of} | {words:,} | {_share(lost, words)} | {_share(garbled, words)} |"


def _share(count: int, words: int) -> str:
    return f"{count} ({count / max(words, 1):.2%})"


def main() -> None:
    """Compare the files of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=0, help="this many lost and garbled words of every file")
    options = parser.parse_args()
    results = []
    for path in options.files:
        others = dict(readers(path))
        if others:
            results.append(compared(path.name, own_words(path), others))
    for line in table(results):
        print(line)  # noqa: T201
    for one in results if options.show else ():
        for what, words in (("lost", one.lost), ("garbled", one.garbled)):
            print(f"{one.name}, {what}: {' '.join(word for word, _ in words.most_common(options.show))}")  # noqa: T201


if __name__ == "__main__":
    main()
