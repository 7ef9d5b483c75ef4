"""A story of rich text, such as its body or a footnote: its paragraphs and rows as parts."""

from dataclasses import dataclass, field

from models.types import Part
from spanseek_files.rich_text.tokens import joined_pairs


@dataclass(slots=True)
class Story:
    """Parts that are finished, the paragraph and the row that are not, and what follows the paragraph.

    ``in_table`` is set by paragraphs; a drop cap goes on in the next one.
    """

    kind: str = ""
    parts: list[Part] = field(default_factory=list)
    in_table: bool = False
    is_drop_cap: bool = False
    _pieces: list[str] = field(default_factory=list)
    _label: list[str] = field(default_factory=list)
    _cells: list[list[str]] = field(default_factory=lambda: [[]])
    _beside: list[Part] = field(default_factory=list)

    def add(self, text: str, *, is_label: bool = False) -> None:
        """Add to the paragraph, or to the number before it."""
        (self._label if is_label else self._pieces).append(text)

    def add_beside(self, parts: list[Part]) -> None:
        """Add what stands beside the paragraph, or the row."""
        self._beside += parts

    def end_paragraph(self) -> None:
        """Let a paragraph end: in a table it is one of its cell."""
        if self.is_drop_cap:
            self.is_drop_cap = False
            return
        text = self._taken()
        if text and self.in_table:
            self._cells[-1].append(text)
        elif text:
            self._emit(text)
        if not self.in_table:
            self._end_beside()

    def end_cell(self) -> None:
        """Let a cell end."""
        text = self._taken()
        self._cells[-1] += [text] if text else []
        self._cells.append([])

    def end_row(self) -> None:
        """Let a row end: it is one part, unless a cell has several paragraphs."""
        cells, self._cells = self._cells, [[]]
        if any(len(cell) > 1 for cell in cells):
            for text in (text for cell in cells for text in cell):
                self._emit(text)
        elif any(cells):
            self._emit("\t".join(" ".join(cell[0].split()) for cell in cells if cell))
        self._end_beside()

    def finished(self) -> list[Part]:
        """End the paragraph and the row that are still open, and return all parts."""
        self.is_drop_cap = False
        self.in_table = False
        text = self._taken()
        if any(self._cells):
            self.end_row()
        if text:
            self._emit(text)
        self._end_beside()
        return self.parts

    def _taken(self) -> str:
        text = joined_pairs("".join(self._pieces)).strip()
        label = joined_pairs("".join(self._label)).strip()
        self._pieces, self._label = [], []
        is_number = any(sign.isalnum() for sign in label) and label != "o"  # a bullet in Courier
        return f"{label} {text}" if text and is_number else text

    def _emit(self, text: str) -> None:
        self.parts.append(Part(text, {"kind": self.kind} if self.kind else {}))

    def _end_beside(self) -> None:
        self.parts += self._beside
        self._beside = []
