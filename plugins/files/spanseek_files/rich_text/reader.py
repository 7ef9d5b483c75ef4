"""Rich text as a document: what Word shows of it."""

from dataclasses import dataclass, field, replace
from typing import Final

from indexer.errors import InvalidDocument
from indexer.sources.records import COMMENTS, Reading, one_document
from models.types import Document, Part
from spanseek_files.compose import composed
from spanseek_files.isolated import isolated
from spanseek_files.rich_text.story import Story
from spanseek_files.rich_text.tokens import (
    CHARACTER_SETS,
    FILE_ENCODINGS,
    SYMBOL_SET,
    Token,
    code_page,
    joined_pairs,
    tokens,
)  # fmt: skip
from spanseek_files.word.symbols import readable, symbol

_MAX_MARKS: Final = 2_500_000
_KINDS: Final = {
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), "header"),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), "footer"),
    **dict.fromkeys(("shptxt", "dptxbxtext"), "text box"),
    "footnote": "footnote",
    "annotation": "comment",
}
_SKIPPED_NAMES: Final = """
    aftncn aftnsep aftnsepc author category bkmkend bkmkstart colortbl comment company creatim datastore doccomm
    fldinst filetbl ftncn ftnsep ftnsepc generator hlinkbase info keywords latentstyles listoverridetable listtable
    manager mmathPict mmathPr nonesttables nonshppict objclass objdata objname operator pict printim private revtbl
    revtim rsidtbl rxe shprslt sp stylesheet subject tc themedata txe upr xe xmlnstbl
"""
_SKIPPED: Final = frozenset(_SKIPPED_NAMES.split())
# Destinations that other programs may ignore, and that hold text.
_READ: Final = frozenset(
    {"shpinst", "shppict", "do", "nesttableprops", "moMath", "moMathPara", "ud", "listtext", "pntext"}
)
_SIGNS: Final = {
    "bullet": "•", "emdash": "—", "emspace": " ", "endash": "–", "enspace": " ", "lbr": "\n", "ldblquote": "“",  # noqa: RUF001
    "line": "\n", "lquote": "‘", "qmspace": " ", "rdblquote": "”", "rquote": "’", "softline": "\n", "tab": "\t",  # noqa: RUF001
}  # fmt: skip
_CONTROL_SIGNS: Final = {"~": "\u00a0", "_": "-", "\\": "\\", "{": "{", "}": "}", "\t": "\t"}
_ENDS: Final = frozenset({"par", "sect", "page", "column", "nestcell"})


@dataclass(slots=True)
class _Group:
    """The state within a group."""

    story: Story
    is_skipped: bool = False
    is_hidden: bool = False
    is_deleted: bool = False
    is_label: bool = False
    font: int | None = None
    skip_after_unicode: int = 1
    collects: list[str] | None = None

    def inner(self) -> "_Group":
        """A group within this one. Files have millions: ``replace`` takes four times as long."""
        return _Group(
            self.story, self.is_skipped, self.is_hidden, self.is_deleted, self.is_label, self.font,
            self.skip_after_unicode, self.collects,
        )  # fmt: skip


@dataclass(slots=True)
class _Font:
    codec: str | None = None
    name: list[str] = field(default_factory=list)
    is_symbol: bool = False

    @property
    def family(self) -> str:
        """The name of the font; ``Symbol`` for all that have its signs."""
        name = "".join(self.name).partition(";")[0].strip()
        return "Symbol" if self.is_symbol and "symbol" in name.lower() else name


class RichText:
    """Reads one file. ``parts`` are its parts, headers first and footers last."""

    def __init__(self, source: str, *, with_comments: bool = False) -> None:
        self._with_comments = with_comments
        self._body = Story()
        self._group = _Group(self._body)
        self._stack: list[_Group] = []
        self._fonts: dict[int, _Font] = {}
        self._is_fonts = 0
        self._default_font: int | None = None
        self._codec = "cp1252"
        self._bytes = bytearray()
        self._may_be_ignored = self._begins = False
        self._after_unicode = 0
        self._margins: dict[str, dict[str, Part]] = {"header": {}, "footer": {}}
        self._title: list[str] = []
        self.comments = self.objects = self.hidden_words = 0
        for token in tokens(source):
            self._see(token)
        self._flush()
        while self._stack:
            self._leave()
        body = self._body.finished()
        self.parts = [*self._margins["header"].values(), *body, *self._margins["footer"].values()]

    @property
    def title(self) -> str:
        """The title among the properties of the file."""
        return joined_pairs("".join(self._title)).strip()

    def _see(self, token: Token) -> None:
        if token.name == "text":
            return self._characters(token.text) if token.text else None
        begins, self._begins = self._begins, False
        if token.name == "sign":
            if token.text == "*" and begins:
                self._may_be_ignored = self._begins = True
            elif token.text in "\r\n":
                self._word(Token("par"))
            elif token.text in _CONTROL_SIGNS:
                self._flush()
                self._text(_CONTROL_SIGNS[token.text])
            return None
        if token.name == "{":
            self._flush()
            self._stack.append(self._group)
            self._group = self._group.inner()
            self._begins, self._may_be_ignored, self._after_unicode = True, False, 0
        elif token.name == "}":
            self._flush()
            self._leave()
            self._may_be_ignored, self._after_unicode = False, 0
        else:
            if begins:
                self._destination(token.name)
            self._word(token)
        return None

    def _destination(self, name: str) -> None:
        """Set what a group is used for, by its first control word."""
        may_be_ignored, self._may_be_ignored = self._may_be_ignored, False
        group = self._group
        if name == "fonttbl":
            self._is_fonts = len(self._stack)
        elif name == "title":
            group.collects = self._title
        elif name == "annotation" and not self._with_comments:
            self.comments += not group.is_skipped
            group.is_skipped = True
        elif name in _KINDS and not group.is_skipped:
            self._group = replace(group, story=Story(_KINDS[name]), is_label=False, font=self._default_font)
        elif name == "ud":
            group.is_skipped = False
        elif name in ("listtext", "pntext"):
            group.is_label = True
        elif name in _SKIPPED or (may_be_ignored and name not in _READ):
            self.objects += name == "objdata"
            group.is_skipped = True

    def _leave(self) -> None:
        if not self._stack:
            return
        left, self._group = self._group, self._stack.pop()
        if len(self._stack) < self._is_fonts:
            self._is_fonts = 0
        if left.story is self._group.story:
            return
        parts = left.story.finished()
        if left.story.kind in self._margins:
            for part in parts:
                self._margins[left.story.kind].setdefault(part.text, part)
        else:
            self._group.story.add_beside(parts)

    def _word(self, token: Token) -> None:
        name, number, group = token.name, token.number, self._group
        if name == "u":
            self._flush()
            self._text(chr((number or 0) % 0x10000))
            self._after_unicode = group.skip_after_unicode
            return
        self._flush()
        if self._is_fonts and name in ("f", "fcharset"):
            self._describe_font(name, number or 0)
        elif name in ("v", "deleted"):
            setattr(group, "is_hidden" if name == "v" else "is_deleted", number != 0)
        elif name == "plain":
            group.is_hidden, group.is_deleted, group.font = False, False, self._default_font
        elif name == "f":
            group.font = number
        elif name == "deff":
            self._default_font = group.font = number
        elif name == "uc":
            group.skip_after_unicode = max(number or 0, 0)
        elif name == "ansicpg" or name in FILE_ENCODINGS:
            self._codec = FILE_ENCODINGS.get(name) or code_page(number or 0)
        elif name == "ftnalt":
            group.story.kind = "endnote"
        elif not group.is_skipped and not group.is_label:
            self._layout(name, number)

    def _layout(self, name: str, number: int | None) -> None:
        story = self._group.story
        if name in _SIGNS:
            self._text(_SIGNS[name])
        elif name in _ENDS and not self._group.is_deleted:
            story.end_paragraph()
        elif name == "cell":
            story.end_cell()
        elif name == "row":
            story.end_row()
        elif name in ("pard", "intbl"):
            story.in_table = name == "intbl"
        elif name == "dropcapli":
            story.is_drop_cap = number != 0

    def _describe_font(self, name: str, number: int) -> None:
        if name == "f":
            self._group.font = number
            self._fonts[number] = _Font()
        elif self._group.font in self._fonts:
            font = self._fonts[self._group.font]
            font.codec, font.is_symbol = CHARACTER_SETS.get(number), number == SYMBOL_SET

    def _characters(self, text: str) -> None:
        skipped = min(self._after_unicode, len(text))
        self._after_unicode -= skipped
        self._begins = False
        if self._group.is_skipped and self._group.collects is None and not self._is_fonts:
            return
        self._bytes += text[skipped:].encode("latin-1")

    def _flush(self) -> None:
        """Read the bytes so far in the encoding of their font."""
        self._after_unicode = 0
        if not self._bytes:
            return
        data, self._bytes = bytes(self._bytes), bytearray()
        group = self._group
        font = None if group.font is None else self._fonts.get(group.font)
        if self._is_fonts:
            if font is not None and not group.is_skipped:
                font.name.append(data.decode("latin-1"))
        elif font is not None and font.is_symbol:
            self._text("".join(symbol(font.family, code) or " " for code in data))
        else:
            self._text(data.decode((font and font.codec) or self._codec, "replace"))

    def _text(self, text: str) -> None:
        group = self._group
        if group.collects is not None:
            group.collects.append(text)
        elif group.is_skipped or group.is_deleted:
            return
        elif group.is_hidden:
            self.hidden_words += len(text.split())
        else:
            font = None if group.font is None else self._fonts.get(group.font)
            group.story.add(readable(text, font.family) if font else text, is_label=group.is_label)


@isolated("rich text")
@one_document
def read_rich_text(reading: Reading) -> Document:
    """A file is one document: a part a paragraph, or a row of a table; ``kind`` as Word files have it."""
    text = rich_text(reading, reading.whole())
    return composed(reading, text.parts, {"title": text.title})


def rich_text(reading: Reading, data: bytes) -> RichText:
    """Rich text that was read; what is left out of it is said. Raises ``InvalidDocument`` for what is none."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise InvalidDocument("not rich text: it does not begin with {\\rtf")
    if data.count(b"{") + data.count(b"\\") > _MAX_MARKS:
        raise InvalidDocument(f"it has more than {_MAX_MARKS:,} groups and control words")
    text = RichText(data.decode("latin-1"), with_comments=reading.options.comments)
    reading.lose(text.objects, "embedded object")
    reading.note(text.hidden_words, "words of hidden text are left out")
    reading.note(text.comments, COMMENTS)
    return text
