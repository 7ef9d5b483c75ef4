"""PDFs are read as their pages show them: one construct a test."""

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.sources import BadRecord, ReadOptions, Source
from models.types import Document, Part
from spanseek_files.pdf.glyphs import RawPage, Sign
from spanseek_files.pdf.words import page_words
from tests.pdf_files import lines, pdf, shown, stream

pytest.importorskip("pypdfium2")


def source_of(folder: Path, data: bytes, options: ReadOptions | None = None) -> Source:
    (folder / "x.pdf").write_bytes(data)
    return Source(folder / "x.pdf", options)


def read(folder: Path, *pages: str | bytes, **entries: object) -> Document:
    (document,) = source_of(folder, pdf(*pages, **entries))  # type: ignore[arg-type]
    assert isinstance(document, Document), document
    return document


def texts(document: Document) -> list[str]:
    return [part.text for part in document.parts]


PAGES = {
    "gap between words": (shown("247") + shown("VOTES", 96.6), ["247 VOTES"]),
    "drawn in another order": (shown("VOTES", 100) + shown("247"), ["247 VOTES"]),
    "drawn twice to look bold": (shown("Total") + shown("Total", 72.3), ["Total"]),
    "letters spaced out": ("BT /F1 12 Tf 6 Tc 72 700 Td (REPORT) Tj ET", ["REPORT"]),
    "short words without signs for spaces": (
        "BT /F1 12 Tf 72 700 Td [(0)-550(0)-550(10)-550(10)-550(re)-550(2)-550(6)-550(f)] TJ ET",
        ["0 0 10 10 re 2 6 f"],
    ),
    "words that stand close": (
        "BT /F1 12 Tf 72 700 Td [(a)-300(part)-300(of)-105(incorporating)] TJ ET",
        ["a part of incorporating"],
    ),
    "dots that lead to a page": (
        "BT /F1 12 Tf 72 700 Td (MEMORY) Tj 45.5 0 Td (USE) Tj ET "
        + " ".join(shown(".", 150 + 9 * n) for n in range(25)),
        [f"MEMORY USE {' '.join('.' * 25)}"],
    ),
    "hyphen": (lines("I want to cancel my sub-", "scription today."), ["I want to cancel my subscription today."]),
    "hyphen that is written": (
        lines("A well-known name, and well-", "known it is. It is well-known."),
        ["A well-known name, and well-known it is. It is well-known."],
    ),
    "paragraphs": (
        lines("The tenant pays the rent on the", "first day of each month.")
        + lines("The landlord keeps the roof in", "good repair.", y=650),
        [
            "The tenant pays the rent on the first day of each month.",
            "The landlord keeps the roof in good repair.",
        ],
    ),
    "list": (
        lines("- the first item of the whole list", "- the second one"),
        ["- the first item of the whole list", "- the second one"],
    ),
    "table": (
        lines("Rent", "Deposit", "Keys") + lines("100", "200", "3", x=300),
        ["Rent\t100", "Deposit\t200", "Keys\t3"],
    ),
    "heading": (
        lines("Repairs", size=18) + lines("The landlord keeps", "the roof.", y=680),
        ["Repairs", "The landlord keeps the roof."],
    ),
    "superscript": (shown("x") + shown("2", 80, 704, 8) + shown("rises", 95), ["x2 rises"]),
    "turned": ("BT /F1 12 Tf 0 1 -1 0 300 300 Tm (end my plan) Tj ET", ["end my plan"]),
}


@pytest.mark.parametrize(("content", "expected"), PAGES.values(), ids=PAGES)
def test_a_page_is_read_as_it_is_shown(tmp_path: Path, content: str, expected: list[str]) -> None:
    assert read(tmp_path, content).parts == tuple(Part(text, {"page": 1, "pages": [1]}) for text in expected)


LEFT = [
    "The tenant pays the rent on",
    "the first day of each month",
    "and keeps the rooms in the",
    "state in which they were at",
    "the beginning of the lease,",
    "and does not sublet them at",
    "any time and for any reason.",
]
RIGHT = [
    "The landlord keeps the roof",
    "and the walls in good order",
    "and insures the house, and",
    "does not enter the rooms at",
    "any time without a notice of",
    "two days before that, unless",
    "there is danger for somebody.",
]


def test_narrow_gaps_of_a_font_with_tall_boxes_part_words() -> None:
    """A font of 10 points whose boxes are 16 points high: a gap of 1.5 points is one between words."""
    lefts = [0.0, 6.0, 13.5, 19.5]
    signs = [
        Sign(ord(letter), left, 0.0, left + 6.0, 16.0, 10.0, 0.0) for letter, left in zip("ofit", lefts, strict=True)
    ]
    page = RawPage(1, (0.0, -20.0, 100.0, 100.0), signs)
    assert [word.text for word in page_words(page)] == ["of", "it"]


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    title = shown("Terms of the lease of the house and of the garden, for both of the parties", y=740)
    page = title + lines(*LEFT) + lines(*RIGHT, x=300, y=696)
    assert texts(read(tmp_path, page))[-2:] == [" ".join(LEFT), " ".join(RIGHT)]


def test_a_sentence_goes_on_in_the_next_column_and_on_the_next_page(tmp_path: Path) -> None:
    page = lines(
        "The fee is due when",
        "the lease of the house",
        "which is described in",
        "the schedule of terms",
        "has come to its end,",
    )
    document = read(tmp_path, page, shown("unless they agree. Or not.", y=740))
    (part,) = document.parts
    assert part.text.endswith("has come to its end, unless they agree. Or not.")
    assert part.metadata == {"page": 1, "pages": [1, 2]}


def test_running_heads_feet_and_page_numbers_are_marked(tmp_path: Path) -> None:
    def page(number: int, *body: str) -> str:
        return shown("Lease of 12 High Street", y=760) + lines(*body) + shown(f"Page {number} of 3", y=30)

    document = read(tmp_path, page(1, "The fee is due"), page(2, "at the end of"), page(3, "the month."))
    kinds = [(part.text, part.metadata.get("kind"), part.metadata["pages"]) for part in document.parts]
    assert kinds[:3] == [
        ("Lease of 12 High Street", "header", [1]),
        ("The fee is due at the end of the month.", None, [1, 2, 3]),
        ("Page 1 of 3", "page number", [1]),
    ]
    assert [kind for _, kind, _ in kinds[3:]] == ["header", "page number"] * 2


FIELD = (
    b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (reason) /V (end my plan) /Rect [260 695 460 715] "
    b"/DA (/F1 12 Tf 0 g) /F 4 %s >>"
)
FORM = "/AcroForm << /Fields [2 0 R] /DR << /Font << /F1 1 0 R >> >> /DA (/F1 12 Tf 0 g) >>"


@pytest.mark.parametrize("appearance", [b"/AP << /N 3 0 R >>", b""], ids=["drawn", "not drawn"])
def test_fields_of_forms_are_read(tmp_path: Path, appearance: bytes) -> None:
    entries = "/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F1 1 0 R >> >>"
    extra = [FIELD % appearance, stream(shown("end my plan", 2, 5), entries)]
    document = read(tmp_path, shown("Reason:"), page="/Annots [2 0 R]", catalog=FORM, extra=extra)
    assert texts(document) == ["Reason:\tend my plan"]


def test_notes_are_read_if_they_are_wanted(tmp_path: Path) -> None:
    note = b"<< /Type /Annot /Subtype /Text /Rect [10 10 30 30] /Contents (too expensive) >>"
    data = pdf(shown("The fee."), page="/Annots [2 0 R]", extra=[note])
    (document,) = source_of(tmp_path, data)
    assert isinstance(document, Document)
    assert texts(document) == ["The fee."]
    (document,) = source_of(tmp_path, data, ReadOptions(comments=True))
    assert isinstance(document, Document)
    assert document.parts[1] == Part("too expensive", {"page": 1, "pages": [1], "kind": "comment"})


TO_PRIVATE_USE = (
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def 1 begincodespacerange <00> <FF> "
    "endcodespacerange 1 beginbfrange <20> <7E> <E020> endbfrange endcmap end end"
)


def test_pages_without_readable_letters_are_named(tmp_path: Path) -> None:
    own = "/Resources << /Font << /F1 3 0 R >> >>"
    garbled = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /ToUnicode 2 0 R >>"
    source = source_of(tmp_path, pdf(shown("I want to go"), page=own, extra=[stream(TO_PRIVATE_USE), garbled]))
    (bad,) = source
    assert isinstance(bad, BadRecord)
    assert "page 1 of 1 with no readable letters" in bad.reason
    replaced = lines(*["WKH WHQDQW VKDOO SDB WKH UHQW RQ WKH ILUVW GDB RI HDFK PRQWK"] * 5)
    source = source_of(tmp_path, pdf(replaced, shown("The end.")))
    assert len(list(source)) == 1
    assert source.notices["x.pdf"].startswith("the letters of page 1 make no words")


IMAGE = stream(b"\x80", "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8")
IMAGES = "/Resources << /XObject << /I 2 0 R /F 3 0 R >> /Font << /F1 1 0 R >> >>"
FORM_OF_AN_IMAGE = stream(
    "/I Do", "/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /I 2 0 R >> >>"
)


def image(width: float, height: float, y: float = 0, name: str = "I") -> str:
    """An image, or a form, at the left of the page."""
    return f"q {width} 0 0 {height} 0 {y} cm /{name} Do Q "


def source_of_images(folder: Path, *pages: str) -> Source:
    return source_of(folder, pdf(*pages, page=IMAGES, extra=[IMAGE, FORM_OF_AN_IMAGE]))


def test_scans_are_lost_and_empty_pages_are_not(tmp_path: Path) -> None:
    source = source_of_images(tmp_path, image(600, 700), shown("The end."), "")
    assert len(list(source)) == 1
    assert source.lost == {"x.pdf": ("page 1 of 3 with an image and no text: it may be a scan, which needs OCR",)}
    assert source.notices == {"x.pdf": "1 of 3 pages hold no text and are left out"}


SCANS = {
    "strips": ("".join(image(612, 80, 79 * number) for number in range(10)), "no text"),
    "image in a form": (image(612, 792, name="F"), "no text"),
    "stamp": (image(612, 792) + shown("DocuSign Envelope ID: 1A2B-3C4D", y=780, size=7), "at most 4 words"),
    "mark of a program": (image(620, 800) + shown("CamScanner", y=20), "at most 1 word"),
}
NO_SCANS = {
    "photo with a caption": image(612, 500, 200) + shown("The house in May.", y=100),
    "layers of a photo with a caption": image(612, 400, 300) * 3 + shown("The house in May.", y=100),
    "image that lies beyond the page": image(612, 9000, 500) + shown("The house in May.", y=100),
    "page with a background": image(612, 792) + lines(*["The tenant pays the rent on the first day."] * 2),
    "text that a program recognized": image(612, 792) + "3 Tr " + shown("Title page"),
}


@pytest.mark.parametrize(("page", "text"), SCANS.values(), ids=SCANS)
def test_pages_that_are_an_image_are_lost(tmp_path: Path, page: str, text: str) -> None:
    source = source_of_images(tmp_path, page, shown("The end."))
    (document,) = source
    assert isinstance(document, Document)
    assert len(document.parts) == (1 if text == "no text" else 2)
    assert source.lost == {"x.pdf": (f"page 1 of 2 with an image and {text}: it may be a scan, which needs OCR",)}


@pytest.mark.parametrize("page", NO_SCANS.values(), ids=NO_SCANS)
def test_pages_whose_words_are_read_are_not_lost(tmp_path: Path, page: str) -> None:
    source = source_of_images(tmp_path, page)
    assert (len(list(source)), source.lost) == (1, {})


def test_a_scan_with_a_note_is_lost_and_its_note_is_read(tmp_path: Path) -> None:
    note = b"<< /Type /Annot /Subtype /Text /Rect [10 10 30 30] /Contents (too expensive) >>"
    data = pdf(image(612, 792), page=f"{IMAGES} /Annots [4 0 R]", extra=[IMAGE, FORM_OF_AN_IMAGE, note])
    source = source_of(tmp_path, data, ReadOptions(comments=True))
    (document,) = source
    assert isinstance(document, Document)
    assert texts(document) == ["too expensive"]
    assert source.lost == {"x.pdf": ("page 1 of 1 with an image and no text: it may be a scan, which needs OCR",)}


def packed(piece: bytes, times: int) -> bytes:
    packer = zlib.compressobj()
    pieces = [packer.compress(piece) for _ in range(times)]
    return stream(b"".join([*pieces, packer.flush()]), "/Filter /FlateDecode")


def nested_forms(levels: int) -> bytes:
    """Every form draws the next one ten times."""
    forms = []
    for level in range(levels):
        resources = f"/Resources << /XObject << /N {level + 3} 0 R >> /Font << /F1 1 0 R >> >>"
        entries = f"/Type /XObject /Subtype /Form /BBox [0 0 600 700] {resources}"
        forms.append(stream("/N Do " * 10 if level < levels - 1 else shown("x"), entries))
    return pdf("/N Do", page="/Resources << /XObject << /N 2 0 R >> >>", extra=forms)


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "no PDF": (lambda: b"%PDF-1.4 no", "Data format error"),
    "no pages": (pdf, "not a PDF that can be read"),
    "stream that unpacks to a gigabyte": (lambda: pdf(packed(b"(x) Tj " * 150_000, 1_000)), "memory"),
    "forms in forms": (lambda: nested_forms(12), "not a PDF that can be read"),
    "signs without end": (
        lambda: pdf(packed(b"BT /F1 1 Tf " + b"(xxxxxxxxxxxxxxxxxxxx) Tj " * 2_000, 1_000)),
        "not a PDF",
    ),
}


@pytest.mark.ci("bombs are made and defused")
@pytest.mark.parametrize(("bomb", "reason"), BOMBS.values(), ids=BOMBS)
def test_what_cannot_be_read_is_refused_in_bounds(tmp_path: Path, bomb: Callable[[], bytes], reason: str) -> None:
    (bad,) = source_of(tmp_path, bomb())
    assert isinstance(bad, BadRecord)
    assert reason in bad.reason
