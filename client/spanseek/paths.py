"""Names in the paths of requests."""

from urllib.parse import quote


def quoted(name: str) -> str:
    """A name as one step of a path, whatever it holds.

    >>> quoted("a/b"), quoted("..")
    ('a%2Fb', '%2E%2E')
    """
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")
