"""Encodings of text files: what was written is read."""
# ruff: noqa: RUF001

import io

import pytest

from indexer.sources.encodings import decoded, detect_encoding, given_encoding

WRITTEN = [
    ("It’s late — “quoted” for €5", "cp1252"),
    ("It’s late", "cp1252"),
    ("£31,500", "cp1252"),
    ("Não recebi a encomenda", "cp1252"),
    ("Où est ma commande ? C’est trop tard…", "cp1252"),
    ("Ärger über Öl", "cp1252"),
    ("Zażółć gęślą jaźń", "cp1250"),
    ("Größe", "cp850"),
    ("naïve café", "mac_roman"),
    ("Привет, где мой заказ", "cp1251"),
    ("Привет, где мой заказ", "koi8_r"),
    ("Η παραγγελία δεν ήρθε", "cp1253"),
    ("注文が届きません", "euc_jp"),
    ("注文が届きません", "cp932"),
    ("我的订单还没有到", "gb18030"),
    ("주문한 상품이 아직 오지 않았습니다", "euc_kr"),
    ("I want to cancel my plan.", "utf-16-le"),
    ("Привет, где мой заказ", "utf-16-be"),
    ("hi there", "utf-32-le"),
    ("hi there", "utf-32-be"),
]


@pytest.mark.parametrize(("text", "codec"), WRITTEN)
def test_a_guess_reads_what_was_written_and_says_that_it_is_one(text: str, codec: str) -> None:
    read, encoding = decoded(text.encode(codec))
    assert read == text
    assert "a guess; --encoding" in str(encoding)


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_with_its_mark_and_utf_8_are_certain(codec: str) -> None:
    read, encoding = decoded("Größe, 5 €".encode(codec))
    assert (read, encoding.is_guess) == ("Größe, 5 €", False)


def test_single_broken_bytes_do_not_change_the_encoding() -> None:
    read, encoding = decoded("größer, schöner, ".encode() + b"\xff")
    assert (read, encoding.codec) == ("größer, schöner, \ufffd", "utf-8-sig")


def test_zeros_in_a_text_do_not_make_it_wide() -> None:
    assert detect_encoding(io.BytesIO(b"a\0b and more text")).codec == "utf-8-sig"


def test_a_given_encoding_is_known_by_its_name() -> None:
    assert given_encoding("UTF8").codec == "utf-8-sig"
    with pytest.raises(LookupError, match="unknown encoding"):
        given_encoding("cp99999")
