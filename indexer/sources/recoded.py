"""Files of UTF-16 and UTF-32, as Windows writes them, as if they were UTF-8."""

import codecs
import io
from contextlib import closing
from typing import BinaryIO, Final, cast

from indexer.sources.encodings import detect_encoding
from indexer.sources.records import Reading

_START: Final = 2**12


def in_utf8(reading: Reading) -> None:
    """Let a file whose start is UTF-16 or UTF-32 be read as UTF-8, and say so."""
    open_again = reading.open_again
    with closing(open_again()) as file:
        codec = detect_encoding(io.BytesIO(file.read(_START))).codec
    if codec.startswith(("utf-16", "utf-32")):
        reading.file, reading.open_again = _recoded(reading.file, codec), lambda: _recoded(open_again(), codec)
        reading.conclude(f"encoding {codec}")


def _recoded(file: BinaryIO, codec: str) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(_Recoded(file, codec)))


class _Recoded(io.RawIOBase):
    """The bytes of a text in UTF-8. Raises ``UnicodeDecodeError`` where the text is not in its encoding."""

    def __init__(self, file: BinaryIO, codec: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(codec)()

    def readable(self) -> bool:
        """True: the file can be read."""
        return True

    def close(self) -> None:
        """Close the file, too."""
        self._file.close()
        super().close()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer as far as some bytes of the file do: two of UTF-16 become at most three of UTF-8."""
        text = ""
        while not text and (data := self._file.read(len(buffer) // 2)):
            text = self._decoder.decode(data)
        encoded = (text or self._decoder.decode(b"", final=True)).encode()
        buffer[: len(encoded)] = encoded
        return len(encoded)
