"""The text of cues: markup removed, voices told apart, and names before a colon where they stand for speakers."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Final

# The tags of each format; whatever else stands between angle brackets is text.
_VTT_TAG: Final = re.compile(
    r"</?(?:c|i|b|u|ruby|rt)(?:\.[^\s<>]*)?>|<lang(?:[.\s][^<>]*)?>|</lang>|<\d[\d:.]*>|\{\\[^{}]*\}"
)
_SUBRIP_TAG: Final = re.compile(
    r"</?[bius]>|</?(?:em|strong)>|<font(?:\s[^<>]*)?>|</font>|\{\\[^{}]*\}|\{/?[bius]\}", re.IGNORECASE
)
_VOICE: Final = re.compile(r"<v(?:\.[^\s<>]*)?(?:[ \t]+([^<>]*))?>|(</v>)")
_REFERENCE: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_DASH: Final = re.compile(r"(?:[-\u2010\u2013]\s*|>>\s*)(?=[^\s\d>-])")
# A name: some capitalised words, without the marks that end a clause.
_WORD: Final = r"(?:[^\W\d_a-z][\w.'\u2019@-]*|\d[\w-]*|\([^()]{1,40}\)|&|and|de|da|der|den|du|la|van|von|al|bin|of)"
_NAME: Final = re.compile(
    rf"(?:>>\s*|[-\u2013]\s*)?(?P<name>(?!\d+:)(?!and |of ){_WORD}(?: {_WORD}){{0,5}}|[a-z][\w-]{{1,20}})\s?:(?:\s+|$)"
)
_LONGEST_NAME: Final = 60
# A name must come up so often, or stand before this share of the cues: "Note: ..." is no speaker.
_COMES_UP: Final = 2
_SHARE: Final = 0.5


@dataclass(slots=True)
class Run:
    """Lines of one speaker within a cue; ``begins`` says that a new turn begins with them."""

    speaker: str | None
    lines: list[str]
    begins: bool = False


def cue_runs(cues: Iterable[Sequence[str]], *, is_vtt: bool) -> list[list[Run]]:
    """The runs of every cue of a file, from its lines.

    >>> lines = ["<v Ann>A<i>h</i> &amp;</v>", "<v Bo>if a<b</v>", "Caller B: Twice.", "Yes."]
    >>> [(run.speaker, run.lines) for run in cue_runs([lines], is_vtt=True)[0]]
    [('Ann', ['Ah &']), ('Bo', ['if a<b']), ('Caller B', ['Twice.', 'Yes.'])]
    """
    plain = _plain_vtt if is_vtt else _plain_subrip
    voiced = [_voices(lines, plain) for lines in cues]
    names = _speakers(voiced)
    return [[run for voice in runs for run in _turns(voice, names)] for runs in voiced]


def _plain_vtt(markup: str) -> str:
    return unescape(_VTT_TAG.sub("", markup)).strip()


def _plain_subrip(markup: str) -> str:
    return _REFERENCE.sub(lambda match: unescape(match[0]), _SUBRIP_TAG.sub("", markup)).strip()


def _voices(lines: Sequence[str], plain: Callable[[str], str]) -> list[Run]:
    """The runs of a cue by its voice tags; a voice goes on over lines up to its end, or to the next one."""
    runs, speaker = [Run(None, [])], None
    for line in lines:
        at = 0
        for match in _VOICE.finditer(line):
            _append(runs[-1], plain(line[at : match.start()]))
            at = match.end()
            speaker = unescape(match[1] or "").strip() or None if match[2] is None else None
            runs.append(Run(speaker, []))
        _append(runs[-1], plain(line[at:]))
    return [run for run in runs if run.lines]


def _append(run: Run, line: str) -> None:
    if line:
        run.lines.append(line)


def _speakers(cues: Sequence[Sequence[Run]]) -> frozenset[str]:
    """The names before a colon that name speakers, judged by the whole file."""
    unnamed = [run for runs in cues for run in runs if run.speaker is None]
    names = Counter(name for run in unnamed for line in run.lines if (name := _name(line)) is not None)
    begun = sum(_name(run.lines[0]) is not None for run in unnamed)
    most_begin = begun >= _SHARE * len(unnamed)
    return frozenset(name for name, count in names.items() if count >= _COMES_UP or (most_begin and name[0].isupper()))


def _name(line: str) -> str | None:
    match = _NAME.match(line)
    return match["name"] if match is not None and len(match["name"]) <= _LONGEST_NAME else None


def _turns(voice: Run, names: frozenset[str]) -> Iterator[Run]:
    """The turns within a run: a name or a dash at the beginning of a line begins one."""
    turn = Run(voice.speaker, [])
    for line in voice.lines:
        name = _name(line) if voice.speaker is None else None
        is_named = name is not None and name in names
        if (is_named or _DASH.match(line)) and turn.lines:
            yield turn
        if is_named:
            turn = Run(name, [], begins=True)
            match = _NAME.match(line)
            _append(turn, line[match.end() :] if match else line)
        elif _DASH.match(line):
            turn = Run(voice.speaker, [line], begins=True)
        else:
            turn.lines.append(line)
    if turn.lines:
        yield turn
