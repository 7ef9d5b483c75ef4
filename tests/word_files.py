"""Word files written by hand: a body of WordprocessingML, and further parts of the package."""

import io
import zipfile
from collections.abc import Mapping
from typing import Final

REL: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SPACES: Final = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "r": REL,
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "v": "urn:schemas-microsoft-com:vml",
    "o": "urn:schemas-microsoft-com:office:office",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "cx": "http://schemas.microsoft.com/office/drawing/2014/chartex",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
}
DECLARED: Final = " ".join(f'xmlns:{prefix}="{space}"' for prefix, space in SPACES.items())
_RELATIONS: Final = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_STRICT: Final = {
    SPACES["w"]: "http://purl.oclc.org/ooxml/wordprocessingml/main",
    REL: "http://purl.oclc.org/ooxml/officeDocument/relationships",
    SPACES["m"]: "http://purl.oclc.org/ooxml/officeDocument/math",
}


def run(text: str, properties: str = "", tag: str = "t") -> str:
    """A run with one text."""
    of_run = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{of_run}<w:{tag} xml:space="preserve">{text}</w:{tag}></w:r>'


def paragraph(*inner: str, properties: str = "") -> str:
    """A paragraph of inline elements."""
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(inner)}</w:p>"


def marked(kind: str, inner: str) -> str:
    """A tracked change: ``ins``, ``del``, ``moveTo`` or ``moveFrom``."""
    return f'<w:{kind} w:id="1" w:author="A" w:date="2026-01-01T00:00:00Z">{inner}</w:{kind}>'


def control(inner: str) -> str:
    """A content control."""
    return f"<w:sdt><w:sdtPr/><w:sdtContent>{inner}</w:sdtContent></w:sdt>"


def cell(*blocks: str, properties: str = "") -> str:
    """A cell of a table."""
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{''.join(blocks)}</w:tc>"


def row(*cells: str, properties: str = "") -> str:
    """A row of a table."""
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


def table(*rows: str) -> str:
    """A table of rows."""
    return f"<w:tbl><w:tblPr/><w:tblGrid/>{''.join(rows)}</w:tbl>"


def vml_box(*blocks: str) -> str:
    """A run with a text box as Word 97 wrote it."""
    content = f"<w:txbxContent>{''.join(blocks)}</w:txbxContent>"
    return f"<w:r><w:pict><v:shape><v:textbox>{content}</v:textbox></v:shape></w:pict></w:r>"


def box(*blocks: str) -> str:
    """A run with a text box in both forms, of which one is to be read."""
    drawn = f"<wps:wsp><wps:txbx><w:txbxContent>{''.join(blocks)}</w:txbxContent></wps:txbx></wps:wsp>"
    graphic = f"<a:graphic><a:graphicData>{drawn}</a:graphicData></a:graphic>"
    choice = f'<mc:Choice Requires="wps"><w:drawing><wp:inline>{graphic}</wp:inline></w:drawing></mc:Choice>'
    fallback = f"<mc:Fallback>{vml_box(*blocks)[5:-6]}</mc:Fallback>"
    return f"<w:r><mc:AlternateContent>{choice}{fallback}</mc:AlternateContent></w:r>"


def field(instruction: str, result: str) -> str:
    """A field of several runs: its result is an inline element."""
    begin, separate, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    return f"{begin}{run(instruction, tag='instrText')}{separate}{result}{end}"


def word_file(body: str, parts: Mapping[str, str] | None = None, *, strict: bool = False, title: str = "") -> bytes:
    """A Word file. ``parts`` are inner XML by kinds of links, which may end in a number: ``{"header1": ...}``.

    The id of a link is the name of the part.
    """
    inner = dict(parts or {})
    links = "".join(_link(name, kind_of(name), f"{name}.xml") for name in inner)
    files = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f"<Relationships {_RELATIONS}>{_link('main', 'officeDocument', 'word/document.xml')}"
        f"{_link('core', 'metadata/core-properties', 'docProps/core.xml')}</Relationships>",
        "docProps/core.xml": f'<p xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></p>',
        "word/_rels/document.xml.rels": f"<Relationships {_RELATIONS}>{links}</Relationships>",
        "word/document.xml": f"<w:document {DECLARED}><w:body>{body}</w:body></w:document>",
        **{f"word/{name}.xml": _rooted(name, xml) for name, xml in inner.items()},
    }
    for space, other in _STRICT.items() if strict else ():
        files = {name: xml.replace(space, other) for name, xml in files.items()}
    return zipped(files)


def kind_of(name: str) -> str:
    """The kind of a part's link, from its name."""
    return {"chart": "chart", "diagram": "diagramData"}.get(name.rstrip("0123456789"), name.rstrip("0123456789"))


def _rooted(name: str, xml: str) -> str:
    root = {"header": "hdr", "footer": "ftr"}.get(kind_of(name), kind_of(name))
    return f"<w:{root} {DECLARED}>{xml}</w:{root}>"


def _link(id: str, kind: str, target: str) -> str:
    return f'<Relationship Id="{id}" Type="{REL}/{kind}" Target="{target}"/>'


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """A zip of files by their names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()
