"""WebVTT and SubRip: every word of a cue once, with its times and its speaker."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.search.hits import timed
from indexer.sources import BadRecord, Source
from models.types import Document
from tests.examples import examples


def read(path: Path, text: str) -> tuple[Document, list[BadRecord], dict[str, str]]:
    path.write_text(text, "utf-8", newline="")
    source = Source(path)
    document, *bad = source
    assert isinstance(document, Document)
    return document, [each for each in bad if isinstance(each, BadRecord)], source.notices


def parts_of(path: Path, text: str) -> list[tuple[str, dict[str, Any]]]:
    document, bad, _ = read(path, text)
    assert bad == []
    return [(part.text, dict(part.metadata)) for part in document.parts]


def times(start: float, end: float, **more: object) -> dict[str, Any]:
    return {"start": start, "end": end, **more}


FIRST, SECOND = "00:00:01,000 --> 00:00:02,000", "00:00:03,000 --> 00:00:04,000"
SUBRIP = {
    "plain": (f"1\n{FIRST}\nHello\nthere.\n\n2\n{SECOND}\nBye.\n", ["Hello\nthere.", "Bye."]),
    "without a blank line": (f"1\n{FIRST}\nHello.\n2\n{SECOND}\nBye.", ["Hello.", "Bye."]),
    "without numbers": (f"{FIRST}\nHello.\n\n{SECOND}\nBye.", ["Hello.", "Bye."]),
    "doubled lines": (f"1\r\r\n{FIRST}\r\r\nHello.\r\r\n2\r\r\n{SECOND}\r\r\nBye.\r\r\n", ["Hello.", "Bye."]),
    "a number as text": (f"1\n{FIRST}\nIt costs\n42\n.\n\n2\n{SECOND}\nBye.", ["It costs\n42\n.", "Bye."]),
    "a blank line in a cue": (f"1\n{FIRST}\n\nHello.\n\nWho?\n\n2\n{SECOND}\nBye.", ["Hello.\nWho?", "Bye."]),
    "no comments": (f"1\n{FIRST}\nHello.\n\nNOTE end it.\n\n2\n{SECOND}\nBye.", ["Hello.\nNOTE end it.", "Bye."]),
    "no fraction": ("1\n00:00:01 --> 00:00:02\nHello.\n\n2\n0:0:3.0 --> 0:0:4\nBye.", ["Hello.", "Bye."]),
    "no spaces": (f"1\n{FIRST.replace(' ', '')}\nHello.\n\n2\n{SECOND}\nBye.", ["Hello.", "Bye."]),
    "a place": (f"1\n{FIRST} X1:63 X2:223 Y1:43 Y2:58\nHello.\n\n2\n{SECOND}\nBye.", ["Hello.", "Bye."]),
    "marks": (f"\ufeff1\n\u202a{FIRST}\u202c\nHello.\n\n2\n\u200f{SECOND}\nBye.", ["Hello.", "Bye."]),
    "markup": (
        f'1\n{FIRST}\n{{\\an8}}<font color="red"><I>Hello</I></font>&nbsp;there.\n\n2\n{SECOND}\n<b>Bye.</b>',
        ["Hello\u00a0there.", "Bye."],
    ),
    "brackets": (
        f"1\n{FIRST}\nI am <NAME>, <me@example.com>, <inaudible> if a<b and c>d & AT&T.\n\n2\n{SECOND}\nBye.",
        ["I am <NAME>, <me@example.com>, <inaudible> if a<b and c>d & AT&T.", "Bye."],
    ),
}


@pytest.mark.parametrize("kind", SUBRIP)
def test_subrip_is_read_as_players_take_it(tmp_path: Path, kind: str) -> None:
    text, expected = SUBRIP[kind]
    for packed in (text, text.replace("\n", "\r\n") if "\r" not in text else text):
        read_parts = parts_of(tmp_path / "x.srt", packed)
        assert read_parts == [(expected[0], times(1.0, 2.0)), (expected[1], times(3.0, 4.0))]


VTT = {
    "text of the header": "WEBVTT - a\nKind: b\n00:01.000 --> 00:02.000\nHello.\n\n00:03.000 --> 00:04.000\nBye.",
    "without a blank line": "WEBVTT\n\n00:01.000 --> 00:02.000\nHello.\n00:03.000 --> 00:04.000\nBye.\n",
    "without a header": "00:01.000 --> 00:02.000\nHello.\n\n00:03.000 --> 00:04.000\nBye.\n",
    "comments and style": (
        "\ufeffWEBVTT\n\nNOTE 00:00 --> not a cue\n\nSTYLE\n::cue {}\n\nREGION\nid:fred\n\nNOTE\na\nb\n\n"
        "00:01.000 --> 00:02.000 align:start\nHello.\n\nNOTE c\n\nid\n00:03.000 --> 00:04.000\nBye.\n"
    ),
    "lines of blanks": "WEBVTT\n\n   \n\n\t\n00:01.000 --> 00:02.000\nHello.\n\n  \n\n00:03.000 --> 00:04.000\nBye.\n",
    "a blank line in a cue": "WEBVTT\n\n00:01.000 --> 00:02.000\n\nHello.\n\n2\n00:03.000 --> 00:04.000\nBye.",
    "markup": (
        "WEBVTT\n\n00:01.000-->00:02.000\n<c.loud>Hel<00:00:01.500>lo</c>.\n\n"
        "00:00:03.000 --> 00:00:04.000\n<lang en>B<i>ye</i></lang>."
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", VTT)
def test_webvtt_is_read_by_the_algorithm_of_the_w3c(tmp_path: Path, kind: str) -> None:
    assert parts_of(tmp_path / "x.vtt", VTT[kind]) == [("Hello.", times(1.0, 2.0)), ("Bye.", times(3.0, 4.0))]


def test_text_after_a_blank_line_is_of_its_cue_and_that_is_said(tmp_path: Path) -> None:
    document, bad, notices = read(tmp_path / "x.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nOne\n\ntwo --> three.\n")
    assert (document.text, bad) == ("One\ntwo --> three.", [])
    assert notices == {"x.vtt": "1 block of text after an empty line is read as text of the cue before it"}


def test_text_of_no_cue_is_reported_with_its_line(tmp_path: Path) -> None:
    text = f"lost\n\n1\n{FIRST}\nHello.\n\n2\n00:00:03 -> 00:00:04\nlost, too\n\n3\n{SECOND}\nBye.\n"
    document, bad, _ = read(tmp_path / "x.srt", text)
    assert [part.text for part in document.parts] == ["Hello.", "Bye."]
    assert [each.where for each in bad] == ["x.srt:1", "x.srt:7"]
    header = "WEBVTT\n\nof no cue\n\n00:01.000 --> 00:02.000\nHello.\n\n00:03.000 --> 0004.000\nlost\n"
    document, bad, _ = read(tmp_path / "y.vtt", header)
    assert document.text == "Hello."
    assert [each.where for each in bad] == ["y.vtt:3", "y.vtt:8"]
    (tmp_path / "none.srt").write_text("just text")
    (none,) = Source(tmp_path / "none.srt")
    assert isinstance(none, BadRecord)
    assert "holds no cue" in none.reason


def test_voices_of_a_cue_are_parts(tmp_path: Path) -> None:
    text = (
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v.loud Ann &amp; Co>How can\nI help?\n<v Caller>I was</v> charged.\n\n"
        "01:00:02.000 --> 01:00:03.000\n<v Caller>Twice.</v>\n"
    )
    assert parts_of(tmp_path / "x.vtt", text) == [
        ("How can\nI help?", times(1.0, 2.0, speaker="Ann & Co")),
        ("I was", times(1.0, 2.0, speaker="Caller")),
        ("charged.", times(1.0, 2.0)),
        ("Twice.", times(3602.0, 3603.0, speaker="Caller")),
    ]


def cue(number: int, text: str) -> str:
    return f"00:0{number}.000 --> 00:0{number + 1}.000\n{text}\n\n"


@pytest.mark.parametrize(
    ("cues", "expected"),
    [
        (["Caller B: I was charged twice."], [("Caller B", "I was charged twice.")]),
        (["Ann Lee (Guest): Hi.", "Ann Lee (Guest): I call", "about."], [("Ann Lee (Guest)", "Hi.\nI call\nabout.")]),
        (["agent: Hi.\ncaller: No.", "agent: Ok.", "caller: Bye."],
         [("agent", "Hi."), ("caller", "No."), ("agent", "Ok."), ("caller", "Bye.")]),
        (["Well.", "Note: it is late.", "So it is.", "Yes."], [(None, "Well.\nNote: it is late.\nSo it is.\nYes.")]),
        (["At 10:30 we met.", "Then: nothing"], [(None, "At 10:30 we met."), ("Then", "nothing")]),
        (["- Really?\n- Yes.", "Good."], [(None, "- Really?"), (None, "- Yes.\nGood.")]),
        ([">> ANN: Hi.", ">> BO: Hi."], [("ANN", "Hi."), ("BO", "Hi.")]),
    ],
)  # fmt: skip
def test_names_before_a_colon_are_speakers_where_they_come_up(
    tmp_path: Path, cues: list[str], expected: list[tuple[str | None, str]]
) -> None:
    text = "WEBVTT\n\n" + "".join(cue(number, each) for number, each in enumerate(cues))
    assert [(facts.get("speaker"), part) for part, facts in parts_of(tmp_path / "x.vtt", text)] == expected


def test_captions_that_roll_are_read_once(tmp_path: Path) -> None:
    lines = [
        "good<00:01.040><c> morning</c>",
        "good morning\n \n",
        "good morning\nend<00:03.360><c> my plan</c>",
        "end my plan",
    ]
    rolling = "WEBVTT\n\n" + "".join(cue(number, each) for number, each in enumerate(lines))
    ((text, facts),) = parts_of(tmp_path / "x.vtt", rolling)
    assert text == "good morning\nend my plan"
    assert facts == times(0.0, 3.0, cues=[[0, 0.0, 1.0], [13, 2.0, 3.0]])
    said_twice = "WEBVTT\n\n" + cue(1, "No.") + cue(2, "No.") + cue(3, "Stop.")
    assert parts_of(tmp_path / "y.vtt", said_twice)[0][0] == "No.\nNo.\nStop."


def test_words_across_cues_have_their_times(tmp_path: Path) -> None:
    text = "WEBVTT\n\n" + cue(1, "I want to cancel") + cue(2, "my plan") + cue(3, "today.")
    ((joined, facts),) = parts_of(tmp_path / "x.vtt", text)
    for words, start, end in (("cancel\nmy", 1.0, 3.0), ("plan", 2.0, 3.0), ("today", 3.0, 4.0), (joined, 1.0, 4.0)):
        at = joined.index(words)
        assert timed(facts, at, at + len(words)) == times(start, end)
    assert timed({"cues": [[0, "x"]]}, 0, 1) == {"cues": [[0, "x"]]}


words = st.text("abcdefgh", min_size=1, max_size=6).map(lambda word: word.upper()[0] + word[1:])
lines = st.lists(words, min_size=1, max_size=4).map(" ".join)


@given(
    st.lists(
        st.tuples(st.sampled_from(["Ann", "Bo"]), st.lists(lines, min_size=1, max_size=3)), min_size=1, max_size=8
    ),
    st.lists(st.sampled_from(["", "NOTE x\ny\n\n", "STYLE\nz\n\n", "\n"]), min_size=8, max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_random_files_give_back_what_their_cues_say(
    tmp_path_factory: pytest.TempPathFactory,
    cues: list[tuple[str, list[str]]],
    between: list[str],
    ending: str,
    is_vtt: bool,
) -> None:
    """Against the cues that the file was written from, grouped by speaker."""
    # No cue repeats the one before: captions that roll are read once.
    cues = [(speaker, [f"{number}{text[0]}", *text[1:]]) for number, (speaker, text) in enumerate(cues)]
    pieces = ["WEBVTT\n\n" if is_vtt else ""]
    expected: list[tuple[str, list[str], float, float]] = []
    for number, (speaker, text) in enumerate(cues):
        codes = f"00:00:{2 * number:02}.500 --> 00:00:{2 * number + 1:02}.500"
        body = "\n".join([f"<v {speaker}>{text[0]}", *text[1:]])
        pieces.append(f"{between[number] if is_vtt else ''}{number + 1}\n{codes}\n{body}\n\n")
        if expected and expected[-1][0] == speaker:
            expected[-1][1].extend(text)
            expected[-1] = (*expected[-1][:3], 2 * number + 1.5)
        else:
            expected.append((speaker, list(text), 2 * number + 0.5, 2 * number + 1.5))
    path = tmp_path_factory.mktemp("cues") / ("x.vtt" if is_vtt else "x.srt")
    read_parts = parts_of(path, "".join(pieces).replace("\n", ending))
    assert [
        (facts["speaker"], text.split("\n"), facts["start"], facts["end"]) for text, facts in read_parts
    ] == expected
    for text, facts in read_parts:
        for offset, _, _ in facts.get("cues", []):
            assert offset == 0 or text[offset - 1] == "\n"
