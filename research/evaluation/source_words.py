"""Words of files that are lost or garbled, against independent readers.

    python -m research.evaluation.source_words FILES...

Readers are programs of the system: ``pdftotext`` (poppler), ``pdf2txt.py`` (pdfminer.six), ``pandoc``, ``docx2txt``,
``markitdown``, ``soffice`` (LibreOffice), ``ffmpeg``, ``html2text`` and ``chromium``; those that are not installed are
left out. A word is **lost** if every reader has it more often than Spanseek, and **garbled** if Spanseek has it more
often than every reader. Shares are of the words that every reader has. Readers may be wrong themselves: they print
numbers of pages, alternative texts and marks of notes where others do not. What Spanseek itself says that it lost is
named.
"""

import argparse
import html
import re
import shutil
import subprocess
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.cli.console import err, out
from indexer.sources import BadRecord, Source
from models.types import Document

_WORD: Final = re.compile(r"\w+")
_TIMES: Final = re.compile(r"^(?:\d+|WEBVTT.*|[\d:.,]+ --> .*)$", re.MULTILINE)
_PICTURES: Final = re.compile(r"!\[[^\]]*\]\([^)]*\)|<!--.*?-->", re.DOTALL)
_TARGETS: Final = re.compile(r"(?<=\])\([^)\s]*\)")
_HYPHEN: Final = re.compile(r"(?<=\w)[-\u00ad\u2010\u2011]\s*\n\s*(?=[^\W\d_])")
_JOINERS: Final = re.compile(r"[\u00ad\u200b-\u200d\u2060\ufeff]")
_TRACK: Final = """<video><track default src="x.vtt"></video><pre></pre><script>
const track = document.querySelector("track");
track.onload = () => {
  const cues = [...track.track.cues].map((cue) => cue.getCueAsHTML().textContent);
  document.querySelector("pre").textContent = cues.join("\\n");
};
track.track.mode = "showing";
</script>"""
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
    """Compare a file's own words with those of other readers: what is lost, and what is garbled.

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


def own_words(path: Path) -> tuple[Counter[str], list[str]]:
    """The words that Spanseek reads, and what it says that it lost."""
    source = Source(path)
    records = list(source)
    text = "\n".join(record.text for record in records if isinstance(record, Document))
    refused = [record.reason for record in records if isinstance(record, BadRecord)]
    return counted_words(text), [*refused, *(lost for of_file in source.lost.values() for lost in of_file)]


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)  # noqa: S603
    return done.stdout.decode("utf-8", "replace")


def _poppler(path: Path) -> str:
    return _output("pdftotext", "-enc", "UTF-8", str(path), "-")


def _raw_poppler(path: Path) -> str:
    return _output("pdftotext", "-raw", "-enc", "UTF-8", str(path), "-")


def _pandoc(path: Path) -> str:
    return _output("pandoc", "--to=plain", "--wrap=none", str(path))


def _pdfminer(path: Path) -> str:
    return _output("pdf2txt.py", str(path))


def _docx2txt(path: Path) -> str:
    return _output("docx2txt", str(path))


def _markitdown(path: Path) -> str:
    return _TARGETS.sub("", _PICTURES.sub("", _output("markitdown", str(path))))


def _html2text(path: Path) -> str:
    return _output("html2text", "--ignore-links", "--ignore-images", "--body-width=0", str(path), "utf-8")


def _ffmpeg(path: Path) -> str:
    options = ("-hide_banner", "-loglevel", "error", "-i", str(path), "-f", "srt", "-")
    return re.sub(r"</?(?:b|i|u|font)\b[^>]*>", "", _TIMES.sub("", _output("ffmpeg", *options)))


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


def _chromium_cues(path: Path) -> str:
    """The cues of a track, as a browser shows them."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder) / "x.vtt")
        page = Path(folder) / "page.html"
        page.write_text(_TRACK)
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom")
        dumped = _output("chromium", *options, "--virtual-time-budget=5000", page.as_uri())
    return html.unescape(dumped.partition("<pre>")[2].partition("</pre>")[0])


_READERS: Final[dict[str, tuple[Callable[[Path], str], str, tuple[str, ...]]]] = {
    "poppler": (_poppler, "pdftotext", (".pdf",)),
    "poppler, as drawn": (_raw_poppler, "pdftotext", (".pdf",)),
    "pdfminer": (_pdfminer, "pdf2txt.py", (".pdf",)),
    "docx2txt": (_docx2txt, "docx2txt", (".docx",)),
    "markitdown": (_markitdown, "markitdown", (".docx", ".pptx", ".xlsx", ".epub", ".html", ".htm")),
    "html2text": (_html2text, "html2text", (".html", ".htm")),
    "ffmpeg": (_ffmpeg, "ffmpeg", (".srt",)),
    "Chromium's cues": (_chromium_cues, "chromium", (".vtt",)),
    "pandoc": (_pandoc, "pandoc", (".docx", ".odt", ".epub", ".rtf", ".html", ".htm")),
    "LibreOffice": (_libreoffice, "soffice", (".docx", ".docm", ".odt", ".odp", ".ods", ".rtf", ".pptx", ".xlsx")),
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


def table(results: Mapping[str, Sequence[Compared]]) -> Iterator[str]:
    """A row for every ending of files' names, as a table of Markdown.

    >>> [*table({".txt": [Compared("a.txt", ("x",), 200, Counter(), Counter("a"))]})][-1]
    '| `.txt` | 1 | x | 200 | 0 (0.00%) | 1 (0.50%) |'
    """
    yield "| format | files | readers | words | lost | garbled |"
    yield "|---|---|---|---|---|---|"
    for ending, files in sorted(results.items()):
        of_readers = ", ".join(sorted({name for one in files for name in one.readers}))
        words = sum(one.words for one in files)
        lost, garbled = sum(one.lost.total() for one in files), sum(one.garbled.total() for one in files)
        figures = f"{words:,} | {_share(lost, words)} | {_share(garbled, words)}"
        yield f"| `{ending}` | {len(files)} | {of_readers} | {figures} |"


def _share(count: int, words: int) -> str:
    return f"{count} ({count / max(words, 1):.2%})"


def main() -> None:
    """Compare the files of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=0, help="this many lost and garbled words of every file")
    options = parser.parse_args()
    results: dict[str, list[Compared]] = {}
    for path in options.files:
        others = dict(readers(path))
        own, said = own_words(path)
        for reason in said:
            err.print(f"{path.name}: {reason}", markup=False, soft_wrap=True)
        if not others or (said and not own):
            continue
        one = compared(path.name, own, others)
        results.setdefault(path.suffix.lower(), []).append(one)
        for what, words in (("lost", one.lost), ("garbled", one.garbled)) if options.show else ():
            if words:
                shown = " ".join(word for word, _ in words.most_common(options.show))
                err.print(f"{path.name}, {words.total()} {what} of {one.words}: {shown}", markup=False, soft_wrap=True)
    for line in table(results):
        out.print(line, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
