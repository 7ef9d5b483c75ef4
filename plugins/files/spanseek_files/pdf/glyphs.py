"""The signs of a PDF with their places, by PDFium, in a process of its own.

A program rather than a module: parsers of untrusted files may crash, and this one is given little memory. It imports
nothing of the project, so that it starts in a tenth of a second. It reads a PDF from standard input and writes a line
of JSON for the file and one for every page; a page's is followed by its signs, ``signs`` times ``SIGN``.
"""

import ctypes
import json
import math
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any, TypeAlias

# An object or a pointer of pypdfium2, which has no types.
Handle: TypeAlias = Any
# Code point, left, bottom, right, top of the advance box in points, font size, and angle of writing in radians.
SIGN = struct.Struct("<I6f")
_MEMORY = 480 * 2**20
# Seconds of the processor for a page, and for all pages together: these and one more for every page.
_SECONDS = 8
_FAILURES = 50
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


def main() -> None:
    """Write what standard input holds."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    _allow_page(0)
    import pypdfium2 as pdfium

    data = sys.stdin.buffer.read()
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        _write({"error": "password" if getattr(error, "err_code", None) == 4 else str(error)})
        return
    if len(document) * _BYTES_A_PAGE > len(data):
        _write({"error": f"it claims to have {len(document):,} pages, more than {len(data):,} bytes can hold"})
        return
    _write({"pages": len(document), "title": document.get_metadata_dict().get("Title", "")})
    document.init_forms()
    failures = 0
    for number in range(len(document)):
        _allow_page(number)
        try:
            facts, signs = _page(document, number)
            failures = 0
        except (pdfium.PdfiumError, MemoryError) as error:
            facts, signs, failures = {"error": str(error)}, [], failures + 1
        _write(facts | {"signs": len(signs)})
        sys.stdout.buffer.write(b"".join(SIGN.pack(*sign) for sign in signs))
        sys.stdout.buffer.flush()
        if failures == _FAILURES:
            return


def _allow_page(number: int) -> None:
    """Limit the CPU time of the next page: beyond it, the system ends this process (SIGXCPU).

    Time in which a busy machine does other work does not count.
    """
    with suppress(ImportError, ValueError, OSError):
        import resource

        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(min(used, number) + _SECONDS), most))


def _write(value: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(value).encode() + b"\n")
    sys.stdout.buffer.flush()


def _page(document: Handle, number: int) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    """A page: its box, what it says beside its signs, and the signs, also of filled forms and of annotations."""
    page = document[number]
    fields, comments = _annotations(document, page)
    covered = _covered(page)
    facts = {
        "box": page.get_cropbox(),
        "is_scan": covered > _MUCH,
        "is_image": covered > _NEARLY_ALL and not _has_invisible_text(page),
        "fields": fields,
        "comments": comments,
    }
    if page.get_mediabox(fallback_ok=True) and _flatten(page):
        page.close()
        page = document[number]
    signs = list(_signs(page.get_textpage()))
    page.close()
    return facts, signs


def _flatten(page: Handle) -> bool:
    """Make annotations part of the page, as they are shown. Whether there were any."""
    import pypdfium2.raw as raw

    if raw.FPDFPage_GetAnnotCount(page) == 0:
        return False
    return bool(raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == raw.FLATTEN_SUCCESS)


def _signs(text: Handle) -> Iterator[tuple[Any, ...]]:
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
            yield code, box.left, box.bottom, box.right, box.top, size, angle


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


def _annotations(document: Handle, page: Handle) -> tuple[list[Any], list[str]]:
    """Values of fields and free texts with their boxes, and the comments that are stuck to a page."""
    import pypdfium2.raw as raw

    fields: list[Any] = []
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
                fields.append([value, box.left, box.bottom, box.right, box.top])
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


if __name__ == "__main__":
    main()
