"""PDFs written by hand: pages of content streams."""

from collections.abc import Sequence
from typing import Final

MEDIA: Final = "/MediaBox [0 0 612 792]"


def shown(text: str, x: float = 72, y: float = 700, size: float = 12) -> str:
    """A text at a place of the page."""
    return f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET"


def lines(*texts: str, x: float = 72, y: float = 700, size: float = 12, leading: float = 14) -> str:
    """Lines below each other."""
    return "\n".join(shown(text, x, y - leading * number, size) for number, text in enumerate(texts))


def stream(data: str | bytes, entries: str = "") -> bytes:
    """A stream object."""
    body = data if isinstance(data, bytes) else data.encode("cp1252")
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(body), entries.encode(), body)


def pdf(
    *pages: str | bytes,
    base: str = "Courier",
    page: str = "",
    catalog: str = "",
    font: str = "",
    extra: Sequence[bytes] = (),
) -> bytes:
    """A PDF: a page a content stream, or a whole stream object.

    The font is object 1, and ``extra`` objects begin at 2; ``page`` and ``catalog`` are further entries of all pages
    and of the catalog.
    """
    objects = [
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{base} /Encoding /WinAnsiEncoding {font} >>".encode(),
        *extra,
    ]
    parent = len(objects) + 2 * len(pages) + 1
    kids = []
    for content in pages:
        objects.append(content if isinstance(content, bytes) else stream(content))
        resources = "/Resources << /Font << /F1 1 0 R >> >>" if "/Resources" not in page else ""
        objects.append(
            f"<< /Type /Page /Parent {parent} 0 R {MEDIA} {resources} /Contents {len(objects)} 0 R {page} >>".encode()
        )
        kids.append(f"{len(objects)} 0 R")
    objects.append(f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode())
    objects.append(f"<< /Type /Catalog /Pages {parent} 0 R {catalog} >>".encode())
    return assembled(objects)


def assembled(objects: Sequence[bytes]) -> bytes:
    """A file of objects, of which the last one is the catalog."""
    out, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return bytes(
        out + b"trailer << /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(objects), start)
    )
