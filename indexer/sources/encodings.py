"""The encoding of a text file: UTF-8, UTF-16 or UTF-32 with their marks or without, or windows-1252.

A text in one single-byte encoding decodes in most others, too. So windows-1252 is assumed unless the text is evidence
for another encoding: many words of one script, or the letters of a language. An encoding that follows neither from a
byte order mark nor from UTF-8 is a guess, and is reported as one.
"""

import codecs
import io
import re
from dataclasses import dataclass, replace
from typing import BinaryIO, Final
from unicodedata import category

from charset_normalizer import from_bytes

_CHUNK: Final = 2**18
_SAMPLE: Final = 2**16
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDE: Final = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
WESTERN: Final = "cp1252"
_CENTRAL: Final = "cp1250"
_CENTRAL_LANGUAGES: Final = {"Croatian", "Czech", "Hungarian", "Polish", "Romanian", "Slovak", "Slovene"}
# The letters, or signs, that texts of other scripts mostly consist of, and the least share that they have; of encodings
# of one script the largest, which hold signs that others lack.
_CYRILLIC, _CHINESE = (
    "оеаинтсрвлкмдпу",
    "的一是不了在人有我他这个们中来上大为和国到说时要就会可也你对生能得请谢想們這個來為國說時會對請謝",
)
_SCRIPTS: Final = {
    "cp932": (r"[ぁ-ヺ]", 0.25),
    "euc_jis_2004": (r"[ぁ-ヺ]", 0.25),
    "cp949": (r"[가-힣]", 0.6),
    "gb18030": (f"[{_CHINESE}]", 0.15),
    "cp950": (f"[{_CHINESE}]", 0.15),
    "cp1251": (f"[{_CYRILLIC}]", 0.6),
    "koi8_r": (f"[{_CYRILLIC}]", 0.6),
    "cp1253": ("[αοιτενσηρκςλμάίόέήύώ]", 0.6),
    "cp1255": ("[יוהלארתבמשנ]", 0.6),
    "cp1256": ("[الينمتربوهكع]", 0.6),
    "cp874": ("[านรกเงมยลวดทสต่้]", 0.5),
}
# What browsers, and programs for mail, take for names of other encodings (WHATWG).
_LABELS: Final = {
    **dict.fromkeys(("iso-8859-1", "latin1", "latin-1", "iso8859-1", "us-ascii", "ascii", "iso_8859-1"), WESTERN),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
    "iso-8859-9": "cp1254",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
}
# Encodings of Central Europe, old Macintosh and DOS programs, in which letters of words are signs of windows-1252.
_OLD: Final = (_CENTRAL, "mac_roman", "cp850")
_SEQUENCE: Final = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|(?P<broken>[\x80-\xff])"
)
_WORD: Final = re.compile(rb"[A-Za-z\x80-\xff]+")
_HIGH: Final = re.compile(rb"[\x80-\xff]")
# The error handler of ``errors_of``.
_AS_CONTROLS: Final = "spanseek.controls"
# Bytes beyond ASCII in words that have some: this number, and this share, speak for another script.
_MANY, _MOST = 6, 0.5
# Control characters, as a share of the bytes, that no text in UTF-8 has.
_CONTROLS: Final = 0.2
_READABLE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Encoding:
    """The codec of a file, as Python names it, whether it is a guess, and the number of places that it cannot read."""

    codec: str
    is_guess: bool = False
    broken: int = 0

    def __str__(self) -> str:
        name = self.codec.removesuffix("-sig")
        name = f"{name} (a guess; --encoding says otherwise)" if self.is_guess else name
        places = f"{self.broken:,} {'place is' if self.broken == 1 else 'places are'}"
        return f"{name}, in which {places} not valid and read as \ufffd" if self.broken else name


def given_encoding(name: str) -> Encoding:
    """The encoding of a given name; UTF-8 with or without its mark. Raises ``LookupError`` for an unknown one."""
    codec = codecs.lookup(name).name
    return Encoding("utf-8-sig" if codec == "utf-8" else codec)


def labelled_codec(label: str) -> str | None:
    """The codec that a label in a web page or an e-mail means; None for a label that names no encoding of texts.

    >>> labelled_codec("ISO-8859-1"), labelled_codec("x-user-defined"), labelled_codec("hex")
    ('cp1252', None, None)
    """
    name = label.strip().lower()
    codec = _LABELS.get(name, name)
    try:
        b"a".decode(codec, "replace")
    except (LookupError, ValueError):
        return None
    return codec


def _controls(error: UnicodeError) -> tuple[str, int]:
    """Decode the five bytes that windows-1252 lacks to the control characters of their numbers, as browsers do."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(_AS_CONTROLS, _controls)


def errors_of(codec: str, otherwise: str = "strict") -> str:
    r"""The error handler for bytes that an encoding lacks: that of browsers for windows-1252, else ``otherwise``.

    >>> b"a\x81".decode("cp1252", errors_of("windows-1252")), errors_of("utf-8")
    ('a\x81', 'strict')
    """
    return _AS_CONTROLS if codecs.lookup(codec).name == WESTERN else otherwise


def detect_encoding(file: BinaryIO) -> Encoding:
    """Detect the encoding of a file, which is read to its end unless its start decides.

    A file is UTF-8 unless most of its bytes beyond ASCII are invalid in UTF-8: a few invalid bytes do not change the
    encoding of the rest.

    >>> import io
    >>> print(detect_encoding(io.BytesIO("1;Größe".encode("cp1252"))))
    cp1252 (a guess; --encoding says otherwise)
    >>> print(detect_encoding(io.BytesIO("1,Größe".encode())), detect_encoding(io.BytesIO("Hi.".encode("utf-16-be"))))
    utf-8 utf-16-be (a guess; --encoding says otherwise)
    """
    valid, broken, sample, is_first = 0, 0, bytearray(), True
    while line := file.readline(_CHUNK):
        if is_first:
            marked = next((codec for mark, codec in _MARKS if line.startswith(mark)), None)
            wide = None if marked else _without_mark(line + file.read(_SAMPLE))
            if marked or wide:
                return Encoding(marked) if marked else Encoding(str(wide), is_guess=True)
            file.seek(len(line))
        is_first = False
        if not line.isascii():
            found = [match["broken"] is not None for match in _SEQUENCE.finditer(line)]
            broken, valid = broken + sum(found), valid + len(found) - sum(found)
            if any(found):
                sample += line[: max(_SAMPLE - len(sample), 0)]
    return Encoding("utf-8-sig") if broken <= valid else Encoding(_legacy(bytes(sample)), is_guess=True)


def _without_mark(start: bytes) -> str | None:
    """The UTF-16 or UTF-32 codec of a file without a byte order mark; None for UTF-8 and single-byte encodings."""
    start = start[: min(len(start), _SAMPLE) // 4 * 4 or len(start)]
    controls = sum(start.count(byte) for byte in range(32)) - sum(map(start.count, b"\t\n\f\r"))
    if 0 not in start or (controls < _CONTROLS * len(start) and _is_utf8(start)):
        return None
    best = max(_WIDE, key=lambda codec: _readable(start, codec))
    return best if _readable(start, best)[0] >= _READABLE else None


def _is_utf8(data: bytes) -> bool:
    return not any(match["broken"] for match in _SEQUENCE.finditer(data[:-3]))


def _readable(data: bytes, codec: str) -> tuple[float, float]:
    """The share of readable characters in the decoded text, and that of ASCII, which tells byte orders apart."""
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        return 0.0, 0.0
    of_text = sum(character in "\t\n\f\r" or category(character)[0] in "LMNPSZ" for character in text)
    return of_text / len(text), sum(map(str.isascii, text)) / len(text)


def _legacy(sample: bytes) -> str:
    """The encoding of a text that is not Unicode."""
    words = [word for word in _WORD.findall(sample) if _HIGH.search(word)]
    high = sum(len(_HIGH.findall(word)) for word in words)
    is_other = high >= _MANY and high >= _MOST * sum(map(len, words))
    script = _of_script(sample) if is_other else None
    return script or _old(words) or (_CENTRAL if _is_central(sample) else WESTERN)


def _of_script(sample: bytes) -> str | None:
    """The encoding that makes the text one of its script, if any does."""
    shares = {codec: _share(sample, codec, letters) / least for codec, (letters, least) in _SCRIPTS.items()}
    best = max(shares, key=lambda codec: shares[codec])
    return best if shares[best] >= 1 else None


def _share(sample: bytes, codec: str, letters: str) -> float:
    """The share of letters, or signs, among the characters beyond ASCII; 0 for a text that is not of the encoding."""
    try:
        text = codecs.getincrementaldecoder(codec)().decode(sample)
    except UnicodeDecodeError:
        return 0.0
    return len(re.findall(letters, text)) / max(sum(not character.isascii() for character in text), 1)


def _old(words: list[bytes]) -> str | None:
    """The old encoding that makes letters of all bytes beyond ASCII within words; None if windows-1252 does of most."""
    inner = b"".join(high for word in words for high in _HIGH.findall(word[1:-1]))
    if not inner or _letters(inner, WESTERN) * 2 > len(inner):
        return None
    best = max(_OLD, key=lambda codec: _letters(inner, codec))
    return best if _letters(inner, best) == len(inner) else None


def _letters(data: bytes, codec: str) -> int:
    """The number of bytes that are small letters, or apostrophes, in an encoding."""
    return sum(character.islower() or character == "\u2019" for character in data.decode(codec, "replace"))


def _is_central(sample: bytes) -> bool:
    """True for a text of a language that is written in windows-1250."""
    matches = from_bytes(sample, cp_isolation=[WESTERN, _CENTRAL], threshold=0.5)
    best = matches.best()
    if best is None or best.encoding != _CENTRAL:
        return False
    western = max((match.coherence for match in matches if match.encoding == WESTERN), default=-1.0)
    return best.language in _CENTRAL_LANGUAGES and best.coherence > western


def decoded(data: bytes) -> tuple[str, Encoding]:
    """A text and its encoding, of a file that is one document. Broken bytes become U+FFFD, and are counted.

    >>> decoded("Größe".encode("cp1252"))[0]
    'Größe'
    """
    encoding = detect_encoding(io.BytesIO(data))
    try:
        return data.decode(encoding.codec, errors_of(encoding.codec)), encoding
    except UnicodeDecodeError:
        text = data.decode(encoding.codec, "replace")
        return text, replace(encoding, broken=text.count("\ufffd"))
