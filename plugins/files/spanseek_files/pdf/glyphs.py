"""The pages of a PDF with their signs and the places of these, by PDFium."""

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from indexer.errors import InvalidDocument
from spanseek_files.isolated import allow, used_seconds

# An object or a pointer of pypdfium2, which has no types.
Handle: TypeAlias = Any
# Seconds of the processor for a page, and for all pages together: these and one more for every page.
_SECONDS = 8
_FAILURES = 50
_ENCRYPTED = 4  # the code of PDFium's error
_HIDDEN = 0b100010  # annotations: hidden, or not viewed
_PASSWORD = 1 << 13
_FREE_TEXT, _WIDGET, _POPUP, _LINK = 3, 20, 16, 2
_TEXT_FIELDS = (4, 5, 6)  # combo box, list box, text field
# Shares of a page that images cover: of one that may be a scan if it holds no text, and of one that is an image.
_MUCH, _NEARLY_ALL = 0.25, 0.8
# Points of a page in each direction that are asked for images.
_GRID = 20
_FORM_LEVELS = 3
_INVISIBLE = 3  # the mode in which programs that recognize letters write them over an image
# Fewer are of a page that stands in the tree of pages again and again.
_BYTES_A_PAGE = 4


class Sign(NamedTuple):
    """A sign of a page: its code point, its box in points from the bottom left, its size and its angle."""

    code: int
    left: float
    bottom: float
    right: float
    top: float
    size: float
    angle: float


class Field(NamedTuple):
    """The value of a form's field, and its box."""

    text: str
    left: float
    bottom: float
    right: float
    top: float


@dataclass(slots=True)
class RawPage:
    """The contents of a page. ``problem`` says why it could not be read.

    Images cover much of a page that ``is_scan``, and nearly all of one that ``is_image``, without invisible text that
    says what they show.
    """

    number: int
    box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    signs: list[Sign] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    is_scan: bool = False
    is_image: bool = False
    problem: str = ""


class Extraction:
    """The pages of a PDF one after the other. ``title`` and ``pages``, their number, are known at once.

    Raises ``InvalidDocument`` for what is no PDF, or is encrypted.
    """

    def __init__(self, data: bytes) -> None:
        import pypdfium2 as pdfium

        try:
            self._document = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            if getattr(error, "err_code", None) == _ENCRYPTED:
                raise InvalidDocument("the file is encrypted: save it without a password") from error
            raise
        self.pages = len(self._document)
        if self.pages * _BYTES_A_PAGE > len(data):
            raise InvalidDocument(
                f"not a PDF that can be read: {len(data):,} bytes cannot hold the {self.pages:,} pages that it claims"
            )
        self.title = str(self._document.get_metadata_dict().get("Title", "")).strip()
        self._document.init_forms()

    def __iter__(self) -> Iterator[RawPage]:
        import pypdfium2 as pdfium

        failures = 0
        for number in range(1, self.pages + 1):
            allow(_SECONDS, since=min(used_seconds(), number))
            try:
                page, failures = _page(self._document, number), 0
            except (pdfium.PdfiumError, MemoryError) as error:
                page, failures = RawPage(number, problem=str(error)), failures + 1
            yield page
            if failures == _FAILURES and number < self.pages:
                yield RawPage(number + 1, problem=f"nor can the {self.pages - number - 1:,} pages after it")
                break
        allow(_SECONDS + self.pages)

    def close(self) -> None:
        """Free the memory of the file."""
        self._document.close()


def _page(document: Handle, number: int) -> RawPage:
    """A page: its box, what it says beside its signs, and the signs, also of filled forms and of annotations."""
    page = document[number - 1]
    fields, comments = _annotations(document, page)
    covered = _covered(page)
    is_image = covered > _NEARLY_ALL and not _has_invisible_text(page)
    box = page.get_cropbox()
    if page.get_mediabox(fallback_ok=True) and _flatten(page):
        page.close()
        page = document[number - 1]
    signs = [*_signs(page.get_textpage())]
    page.close()
    return RawPage(number, box, signs, fields, comments, covered > _MUCH, is_image)


def _flatten(page: Handle) -> bool:
    """Make annotations part of the page, as they are shown. Whether there were any."""
    import pypdfium2.raw as raw

    if raw.FPDFPage_GetAnnotCount(page) == 0:
        return False
    return bool(raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == raw.FLATTEN_SUCCESS)


def _signs(text: Handle) -> Iterator[Sign]:
    import pypdfium2.raw as raw

    box = raw.FS_RECTF()
    for index in range(raw.FPDFText_CountChars(text)):
        if raw.FPDFText_IsGenerated(text, index) == 1:
            continue
        code = raw.FPDFText_GetUnicode(text, index)
        if raw.FPDFText_HasUnicodeMapError(text, index) == 1:
            code = 0xFFFD
        if raw.FPDFText_GetLooseCharBox(text, index, ctypes.byref(box)):
            size = raw.FPDFText_GetFontSize(text, index)
            angle = raw.FPDFText_GetCharAngle(text, index)
            yield Sign(code, box.left, box.bottom, box.right, box.top, size, angle)


def _covered(page: Handle) -> float:
    """The share of a page that images cover, by the points of a grid: strips of a scan add up, layers do not."""
    left, bottom, right, top = page.get_cropbox()
    points: set[tuple[int, int]] = set()
    for box in _images(page):
        points.update(product(_points(left, right, box[0], box[2]), _points(bottom, top, box[1], box[3])))
    return len(points) / _GRID**2


def _points(start: float, end: float, low: float, high: float) -> range:
    """The points of a grid from ``start`` to ``end`` that lie from ``low`` to ``high``."""
    step = (end - start) / _GRID or 1.0
    first, last = (max(start, low) - start) / step, (min(end, high) - start) / step
    return range(math.ceil(first - 0.5), math.floor(last + 0.5))


def _images(page: Handle, form: Handle = None, matrix: Handle = None, level: int = 1) -> Iterator[tuple[float, ...]]:
    """The boxes on the page of its images, and of those in its forms."""
    import pypdfium2.raw as raw

    for item in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM], max_depth=1, form=form):
        if item.type == raw.FPDF_PAGEOBJ_IMAGE:
            yield matrix.on_rect(*item.get_bounds()) if matrix else item.get_bounds()
        elif level < _FORM_LEVELS:
            own = item.get_matrix()
            yield from _images(page, item, own.multiply(matrix) if matrix else own, level + 1)


def _has_invisible_text(page: Handle) -> bool:
    import pypdfium2.raw as raw

    texts = page.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT], max_depth=_FORM_LEVELS)
    return any(raw.FPDFTextObj_GetTextRenderMode(text) == _INVISIBLE for text in texts)


def _annotations(document: Handle, page: Handle) -> tuple[list[Field], list[str]]:
    """Values of fields and free texts with their boxes, and the comments that are stuck to a page."""
    import pypdfium2.raw as raw

    fields: list[Field] = []
    comments: list[str] = []
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        if not raw.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
            if kind == _WIDGET and document.formenv:
                value = _value(document.formenv, annotation)
            else:
                value = _string(lambda out, size, a=annotation: raw.FPDFAnnot_GetStringValue(a, b"Contents", out, size))
            box = raw.FS_RECTF()
            if value and kind in (_WIDGET, _FREE_TEXT) and raw.FPDFAnnot_GetRect(annotation, ctypes.byref(box)):
                fields.append(Field(value, box.left, box.bottom, box.right, box.top))
            elif value and kind not in (_WIDGET, _POPUP, _LINK):
                comments.append(value)
        raw.FPDFPage_CloseAnnot(annotation)
    return fields, comments


def _value(form: Handle, annotation: Handle) -> str:
    import pypdfium2.raw as raw

    is_text = raw.FPDFAnnot_GetFormFieldType(form, annotation) in _TEXT_FIELDS
    if not is_text or raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        return ""
    return _string(lambda out, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, out, size))


def _string(read: Handle) -> str:
    """A string of PDFium, which says its length first."""
    import pypdfium2.raw as raw

    size = read(None, 0)
    if size <= 2:
        return ""
    out = ctypes.create_string_buffer(size)
    read(ctypes.cast(out, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return out.raw[: size - 2].decode("utf-16-le", "replace").strip()
