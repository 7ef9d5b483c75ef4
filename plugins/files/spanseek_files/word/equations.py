"""Equations of Office files as linear text, close to the linear format of Word: ``(a+b)/2``, ``x^2``."""

from collections.abc import Callable
from typing import Final

from spanseek_files.packages import Element, attribute, child, tag

_PROPERTIES: Final = "Pr"


def linear(element: Element) -> str:
    """An element of an equation, and all that is in it, as text.

    >>> from spanseek_files.packages import parsed
    >>> space = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    >>> run = "<m:r><m:t>{}</m:t></m:r>".format
    >>> half = f"<m:f><m:num>{run('a+b')}</m:num><m:den>{run('2')}</m:den></m:f>"
    >>> linear(parsed(f"<m:oMath {space}>{half}</m:oMath>".encode(), "x"))
    '(a+b)/2'
    """
    name = tag(element)
    if name in ("m:t", "w:t"):
        return element.text or ""
    if name.endswith(_PROPERTIES) or name in ("w:del", "w:moveFrom"):
        return ""
    return _FORMS.get(name, _inside)(element)


def _inside(element: Element) -> str:
    return "".join(map(linear, element))


def _argument(element: Element, name: str) -> str:
    part = child(element, name)
    return "" if part is None else _inside(part)


def _grouped(text: str) -> str:
    """A text in brackets, unless it is one sign, number or word."""
    return text if len(text) < 2 or text.isalnum() else f"({text})"


def _fraction(element: Element) -> str:
    return f"{_grouped(_argument(element, 'm:num'))}/{_grouped(_argument(element, 'm:den'))}"


def _scripts(element: Element) -> str:
    return f"{_argument(element, 'm:e')}{_low_high(element)}"


def _low_high(element: Element) -> str:
    below, above = _argument(element, "m:sub"), _argument(element, "m:sup")
    return (f"_{_grouped(below)}" if below else "") + (f"^{_grouped(above)}" if above else "")


def _before(element: Element) -> str:
    below, above = _argument(element, "m:sub"), _argument(element, "m:sup")
    return f"_{_grouped(below)}^{_grouped(above)}{_argument(element, 'm:e')}"


def _root(element: Element) -> str:
    return f"{_argument(element, 'm:deg')}√{_grouped(_argument(element, 'm:e'))}"


def _sign(element: Element, properties: str, name: str, default: str) -> str:
    found = child(element, properties, name)
    return default if found is None else attribute(found, "val") or ""


def _sum(element: Element) -> str:
    return f"{_sign(element, 'm:naryPr', 'm:chr', '∫')}{_low_high(element)} {_argument(element, 'm:e')}"


def _brackets(element: Element) -> str:
    between = _sign(element, "m:dPr", "m:sepChr", "|")
    inner = between.join(_inside(each) for each in element if tag(each) == "m:e")
    return f"{_sign(element, 'm:dPr', 'm:begChr', '(')}{inner}{_sign(element, 'm:dPr', 'm:endChr', ')')}"


def _function(element: Element) -> str:
    return f"{_argument(element, 'm:fName')} {_argument(element, 'm:e')}"


def _limit(element: Element) -> str:
    sign = "_" if tag(element) == "m:limLow" else "^"
    return f"{_argument(element, 'm:e')}{sign}{_grouped(_argument(element, 'm:lim'))}"


def _lines(element: Element) -> str:
    return "; ".join(_inside(each) for each in element if tag(each) == "m:e")


def _matrix(element: Element) -> str:
    rows = ([_inside(each) for each in row if tag(each) == "m:e"] for row in element if tag(row) == "m:mr")
    return "; ".join(" ".join(row) for row in rows)


_FORMS: Final[dict[str, Callable[[Element], str]]] = {
    "m:f": _fraction,
    "m:sSub": _scripts,
    "m:sSup": _scripts,
    "m:sSubSup": _scripts,
    "m:sPre": _before,
    "m:rad": _root,
    "m:nary": _sum,
    "m:d": _brackets,
    "m:func": _function,
    "m:limLow": _limit,
    "m:limUpp": _limit,
    "m:eqArr": _lines,
    "m:m": _matrix,
}
