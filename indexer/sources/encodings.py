"""The encoding of a text file: UTF-8, UTF-16 with its mark, or a detected one."""

import codecs
import io
from typing import BinaryIO, Final

from charset_normalizer import from_bytes

_CHUNK: Final = 2**18
_SAMPLE: Final = 2**16
# What spreadsheets write where they do not write Unicode. cp1252 and cp1250 share most letters, and short texts of one
# read as well in the other: cp1250 needs evidence of a language that is written in it.
_WESTERN: Final = "cp1252"
_CENTRAL: Final = "cp1250"
_LEGACY: Final = [_WESTERN, _CENTRAL, "cp1251", "cp1253", "cp932", "gb18030", "euc_kr", "big5"]
_CENTRAL_LANGUAGES: Final = {"Croatian", "Czech", "Hungarian", "Polish", "Romanian", "Slovak", "Slovene"}


def detect_encoding(file: BinaryIO) -> str:
    """The encoding of a file, which is read to its end.

    A file is UTF-8 unless most of its lines beyond ASCII are not: single broken lines do not change the encoding of
    the others, and are reported.

    >>> import io
    >>> detect_encoding(io.BytesIO("1;Größe".encode("cp1252")))
    'cp1252'
    >>> detect_encoding(io.BytesIO("1,Größe".encode()))
    'utf-8-sig'
    """
    valid, broken, sample, is_first = 0, 0, bytearray(), True
    while line := file.readline(_CHUNK):
        if is_first and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        is_first = False
        if line.isascii():
            continue
        if _is_utf8(line):
            valid += 1
        else:
            broken += 1
            sample += line[: max(_SAMPLE - len(sample), 0)]
    return "utf-8-sig" if broken <= valid else _legacy(bytes(sample))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        # A piece of a longer line may end within a character.
        return len(line) == _CHUNK and error.start >= len(line) - 3
    return True


def _legacy(sample: bytes) -> str:
    matches = from_bytes(sample, cp_isolation=_LEGACY, threshold=0.5)
    best = matches.best()
    if best is None or _WESTERN in best.could_be_from_charset:
        return _WESTERN
    if best.encoding == _CENTRAL:
        western = max((match.coherence for match in matches if match.encoding == _WESTERN), default=-1.0)
        return _CENTRAL if best.language in _CENTRAL_LANGUAGES and best.coherence > western else _WESTERN
    return best.encoding


def decoded(data: bytes) -> tuple[str, str]:
    """A text and its encoding, of a file that is one document.

    >>> decoded("Größe".encode("cp1252"))
    ('Größe', 'cp1252')
    """
    encoding = detect_encoding(io.BytesIO(data))
    return data.decode(encoding), encoding
