"""The text of one paragraph, and what stands beside it: notes, boxes, comments."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from string import hexdigits
from typing import Final

from spanseek_files.packages import Element, attribute, branch, child, is_on, tag
from spanseek_files.word.equations import linear
from spanseek_files.word.styles import Styles
from spanseek_files.word.symbols import readable, symbol

# What Word does not show in its final view, and properties of what it shows.
_SKIPPED_NAMES: Final = """
    w:del w:moveFrom w:delText w:instrText w:delInstrText w:pPr w:rPr w:sectPr w:sdtPr w:sdtEndPr w:tblPr w:tblGrid
    w:tblPrEx w:trPr w:tcPr w:fldData w:customXmlPr w:smartTagPr w:rt w:rubyPr w:softHyphen w:pgNum w:annotationRef
    w:footnoteRef w:endnoteRef w:separator w:continuationSeparator w:customXmlDelRangeStart w:ctrlPr
"""
SKIPPED: Final = frozenset(_SKIPPED_NAMES.split())
_SHOWN_INSTRUCTIONS: Final = frozenset({"MACROBUTTON", "GOTOBUTTON"})
_SIGNS: Final = {"w:tab": "\t", "w:ptab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-", "a:br": "\n"}


@dataclass(slots=True)
class Field:
    """A field that has begun: its instruction, and whether its result has."""

    instruction: str = ""
    has_result: bool = False


@dataclass(slots=True)
class Paragraph:
    """A paragraph's text, and what belongs after it: kinds and elements of notes, boxes and comments."""

    pieces: list[str] = field(default_factory=list)
    beside: list[tuple[str, Element]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All pieces of the text."""
        return "".join(self.pieces)


@dataclass(slots=True)
class Omissions:
    """The number of things of each kind that are left out of a file."""

    hidden_words: int = 0
    objects: int = 0
    controls: int = 0
    imports: int = 0
    symbols: int = 0


class Inline:
    """Reads the runs of paragraphs in the order of a story: a field may begin in one paragraph and end in another."""

    def __init__(self, styles: Styles, omissions: Omissions, *, has_whole_fields: bool) -> None:
        self._styles = styles
        self._omissions = omissions
        self._has_whole_fields = has_whole_fields
        self._fields: list[Field] = []
        self._handlers: dict[str, Callable[[Element, Paragraph], None]] = {
            "w:r": self._run,
            "w:fldChar": self._field_mark,
            "w:instrText": self._instruction,
            "w:ruby": self._ruby,
            "m:oMath": self._equation,
            "mc:AlternateContent": self._alternatives,
            "o:OLEObject": self._object,
            "w:control": self._control,
        }
        self._style = ""
        self._font = ""

    def read(self, element: Element, style: str, into: Paragraph) -> None:
        """Add the content of a paragraph with a style."""
        self._style = style
        for each in element:
            self._add(each, into)

    def _add(self, element: Element, into: Paragraph) -> None:
        name = tag(element)
        if name in self._handlers:
            self._handlers[name](element, into)
        elif name in SKIPPED:
            return
        elif name in ("w:t", "a:t"):
            self._text(readable(element.text or "", self._font), into)
        elif name in _SIGNS:
            self._text(_SIGNS[name], into)
        elif name == "w:sym":
            self._symbol(element, into)
        elif name == "v:textpath":
            self._text(f"{attribute(element, 'string') or ''}\n", into)
        elif name in _BESIDE:
            into.beside.append((_BESIDE[name], element))
        else:
            self._inside(element, into)

    def _inside(self, element: Element, into: Paragraph) -> None:
        for each in element:
            self._add(each, into)

    def _text(self, text: str, into: Paragraph) -> None:
        if not self._is_instruction:
            into.pieces.append(text)

    @property
    def _is_instruction(self) -> bool:
        return self._has_whole_fields and any(not each.has_result for each in self._fields)

    def _run(self, element: Element, into: Paragraph) -> None:
        properties = child(element, "w:rPr")
        font = None if properties is None else child(properties, "w:rFonts")
        self._font = "" if font is None else attribute(font, "ascii") or attribute(font, "hAnsi") or ""
        if not self._is_hidden(properties):
            return self._inside(element, into)
        unseen = Paragraph()
        self._inside(element, unseen)
        self._omissions.hidden_words += len(unseen.text.split())
        return None

    def _is_hidden(self, properties: Element | None) -> bool:
        """Hidden by itself, or else by exactly one of the styles of the run and of the paragraph (ECMA-376, 17.7.3)."""
        own = None if properties is None else child(properties, "w:vanish")
        if own is not None:
            return is_on(own)
        named = None if properties is None else child(properties, "w:rStyle")
        run_style = "" if named is None else attribute(named, "val") or ""
        return self._styles.hides(self._style) != self._styles.hides(run_style)

    def _field_mark(self, element: Element, into: Paragraph) -> None:
        kind = attribute(element, "fldCharType")
        if kind == "begin":
            self._fields.append(Field())
            chosen = _chosen(element)
            if chosen and not any(not each.has_result for each in self._fields[:-1]):
                into.pieces.append(chosen)
        elif kind == "separate" and self._fields:
            self._fields[-1].has_result = True
        elif kind == "end" and self._fields:
            ended = self._fields.pop()
            words = ended.instruction.split(maxsplit=2)
            if not ended.has_result and len(words) > 2 and words[0].upper() in _SHOWN_INSTRUCTIONS:
                self._text(words[2].strip(), into)

    def _instruction(self, element: Element, into: Paragraph) -> None:
        if self._fields:
            self._fields[-1].instruction += element.text or ""

    def _ruby(self, element: Element, into: Paragraph) -> None:
        base, above = child(element, "w:rubyBase"), child(element, "w:rt")
        if base is not None:
            self._inside(base, into)
        if above is not None:
            reading = Paragraph()
            self._inside(above, reading)
            self._text(f"({reading.text})", into)

    def _equation(self, element: Element, into: Paragraph) -> None:
        self._text(linear(element), into)

    def _alternatives(self, element: Element, into: Paragraph) -> None:
        for each in branch(element):
            self._add(each, into)

    def _symbol(self, element: Element, into: Paragraph) -> None:
        code = attribute(element, "char") or ""
        is_code = code != "" and set(code) <= set(hexdigits)
        sign = symbol(attribute(element, "font") or "", int(code, 16)) if is_code else ""
        if sign:
            self._text(sign, into)
        else:
            self._omissions.symbols += 1

    def _object(self, element: Element, into: Paragraph) -> None:
        self._omissions.objects += 1

    def _control(self, element: Element, into: Paragraph) -> None:
        self._omissions.controls += 1


# Elements that are read after the paragraph they stand in, and what they are called.
_BESIDE: Final = {
    "w:txbxContent": "text box",
    "a:txBody": "text box",
    "w:footnoteReference": "footnote",
    "w:endnoteReference": "endnote",
    "w:commentReference": "comment",
    "dgm:relIds": "diagram",
    "c:chart": "chart",
    "cx:chart": "chart",
}


def fields_are_whole(story: Element) -> bool:
    """True if every field of a story that begins also ends. If not, what looks like an instruction is shown."""
    depth = 0
    for mark in _marks(story):
        depth += {"begin": 1, "end": -1}.get(attribute(mark, "fldCharType") or "", 0)
        if depth < 0:
            return False
    return not depth


def _marks(story: Element) -> Iterator[Element]:
    """The marks of fields that are not deleted."""
    for each in story:
        name = tag(each)
        if name == "w:fldChar":
            yield each
        elif name == "mc:AlternateContent":
            for inner in branch(each):
                yield from _marks([inner])
        elif name not in SKIPPED and name not in _BESIDE:
            yield from _marks(each)


def _chosen(mark: Element) -> str:
    """The entry that a drop-down list of an old form shows."""
    options = child(mark, "w:ffData", "w:ddList")
    if options is None:
        return ""
    names = [attribute(each, "val") or "" for each in options if tag(each) == "w:listEntry"]
    result = child(options, "w:result") if child(options, "w:result") is not None else child(options, "w:default")
    number = int(attribute(result, "val") or 0) if result is not None else 0
    return names[number] if number < len(names) else ""
