"""Checks of untrusted text."""


def unstorable(text: str, *, nul: bool = False) -> str | None:
    """Return the reason why databases or encodings cannot store a text, or None. ``nul`` allows NUL characters.

    Lone surrogates come from JSON escapes, and from shells that pass bytes through. UTF-8 cannot encode them.

    >>> unstorable("caf\\u00e9"), unstorable("a\\0"), unstorable("a\\0", nul=True), unstorable("x\\ud800")
    (None, 'a NUL character', None, 'a lone surrogate at character 1')
    """
    if "\0" in text and not nul:
        return "a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"a lone surrogate at character {error.start}"
    return None


def printable(text: str) -> str:
    """The text with lone surrogates as escapes: no encoding can carry them.

    >>> printable("x\\ud800")
    'x\\\\ud800'
    """
    return text.encode("utf-8", "backslashreplace").decode()
