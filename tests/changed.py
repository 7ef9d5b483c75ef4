"""Prints the tests of research and of the plug-ins that a change touches: ``python -m tests.changed``.

The change is everything since the merge base with ``origin/main``, or since ``CI_BASE``. On main itself the merge base
is its newest commit. There ``.ci/tested``, if it exists, has the contents that ``make test-all`` has passed with, and
everything that differs counts as changed. ``python -m tests.changed --record`` writes it.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TESTED: Final = ROOT / ".ci" / "tested"
# What every plug-in rests on.
SEAM: Final = ("app/plugins.py", "app/services.py", "pyproject.toml")


def parts() -> Mapping[str, tuple[str, ...]]:
    """The folders of tests that are selected, with the paths whose change selects them."""
    plugins = {str(path.parent.relative_to(ROOT)) for path in ROOT.glob("plugins/*/pyproject.toml")}
    research = ("research", "models", "tests/research")
    return {
        "tests/research": research,
        "research": research,
        **{plugin: (plugin, *SEAM) for plugin in sorted(plugins)},
    }


def changed(before: Mapping[str, str]) -> list[str]:
    """The parts that have a path whose content differs from the one before."""
    return [part for part, paths in parts().items() if any(before.get(path) != content(path) for path in paths)]


@cache
def content(path: str, revision: str = "HEAD") -> str:
    """The hash of a path's content at a revision; empty if it is not there."""
    return _git("rev-parse", "--quiet", "--verify", f"{revision}:{path}")


def before() -> Mapping[str, str]:
    """The hashes of all paths before the change."""
    base = os.environ.get("CI_BASE") or _git("merge-base", "HEAD", "origin/main")
    if TESTED.exists() and base in ("", _git("rev-parse", "HEAD")):
        lines = TESTED.read_text("utf-8").splitlines()
        return {path: hash for hash, _, path in (line.partition(" ") for line in lines)}
    return {path: content(path, base or "HEAD") for paths in parts().values() for path in paths}


def record() -> None:
    """Write down the present contents as tested."""
    paths = sorted({path for paths in parts().values() for path in paths})
    TESTED.write_text("".join(f"{content(path)} {path}\n" for path in paths), "utf-8")


def _git(*command: str) -> str:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        print(*changed(before()))
