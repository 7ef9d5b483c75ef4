"""Checks of the source that no linter has: ``python -m tests.lint``, a part of ``make lint``.

The core's lines of code have a budget, no files import each other in a circle, and a test that is left out of
``make test`` says why.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
CORE: Final = ("app", "indexer", "models")
# Lines of code of the core, on their way to 34,000. Raising the budget is a decision with an ADR.
BUDGET: Final = 39_000
MARKERS: Final = frozenset({"ci", "slow", "costly"})
_BLANK: Final = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)


def lines_of_code(source: str) -> int:
    """The number of lines that hold code: no comments, docstrings or blank lines.

    >>> lines_of_code('def f():\\n    "Return one."\\n\\n    return 1  # one')
    2
    """
    counted: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _BLANK:
            counted.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(ast.Constant(str())) as docstring, *_]:
                    counted.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(counted)


def sizes(packages: Iterable[str]) -> Counter[str]:
    """The lines of code of every room."""
    rooms: Counter[str] = Counter()
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            room = path.relative_to(ROOT).parts[:2]
            rooms["/".join(room[: 1 + (len(room) > 1 and not room[1].endswith(".py"))])] += lines_of_code(
                path.read_text("utf-8")
            )
    return rooms


def module_name(path: Path, top: Path) -> str:
    """The dotted name of a module."""
    parts = path.relative_to(top).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(source: str) -> Iterator[str]:
    """The names that a module imports anywhere: at its top, in functions, and for type checkers alone.

    >>> list(imports("def f():\\n    from app.search import mode"))
    ['app.search.mode', 'app.search']
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
            yield node.module


def graph(packages: Iterable[Path]) -> Mapping[str, set[str]]:
    """The modules of packages with those that each imports. A package is not imported with its modules."""
    paths = {module_name(path, package.parent): path for package in packages for path in package.rglob("*.py")}
    arrows: dict[str, set[str]] = {}
    for name, path in paths.items():
        found: set[str] = set()
        names = list(imports(path.read_text("utf-8")))
        for imported in names:
            longer = any(other.startswith(f"{imported}.") and other in paths for other in names)
            if imported in paths and imported != name and not longer:
                found.add(imported)
        arrows[name] = found
    return arrows


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules each of which imports the others, directly or not (Tarjan's algorithm).

    >>> circles({"a": {"b"}, "b": {"a"}, "c": {"a"}})
    [['a', 'b']]
    """
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(arrows[name]):
            if other not in order:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(arrows):
        if name not in order:
            visit(name)
    return found


def markers_without_reason(source: str) -> Iterator[int]:
    """The lines with a marker of a longer tier that gives no reason.

    >>> list(markers_without_reason('a = pytest.mark.slow\\nb = pytest.mark.ci("starts a server")'))
    [1]
    """
    tree = ast.parse(source)
    given = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args and _is_marker(node.func)}
    yield from sorted(node.lineno for node in ast.walk(tree) if _is_marker(node) and node not in given)


def _is_marker(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name, value=ast.Attribute(attr="mark")):
            return name in MARKERS
    return False


def problems() -> Iterator[str]:
    """What is wrong, a sentence each; prints the sizes of rooms."""
    rooms = sizes(CORE)
    total = sum(rooms.values())
    for room, lines in sorted(rooms.items()):
        print(f"{lines:7,}  {lines / total:4.0%}  {room}")
    print(f"{total:7,}  of at most {BUDGET:,} lines of code in the core")
    if total > BUDGET:
        yield f"The core has {total:,} lines of code, more than its budget of {BUDGET:,}: move a feature to a plug-in."
    plugins = [path.parent for path in ROOT.glob("plugins/*/spanseek_*/__init__.py")]
    for group in circles(graph([*(ROOT / name for name in CORE), *plugins])):
        yield f"These files import each other in a circle: {', '.join(group)}."
    for path in sorted([*ROOT.glob("tests/**/*.py"), *ROOT.glob("plugins/*/tests/**/*.py")]):
        for line in markers_without_reason(path.read_text("utf-8")):
            yield f"{path.relative_to(ROOT)}:{line}: give the marker a reason, such as slow('starts a cluster')."


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    found = list(problems())
    print(*found, sep="\n", file=sys.stderr)
    raise SystemExit(bool(found))
