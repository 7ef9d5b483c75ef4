"""The README's examples run as they stand there, with the weights that ship, and print what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
(PYTHON,) = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
(SHELL,) = re.findall(r"^```sh\n(export .*?)^```$", README, re.DOTALL | re.MULTILINE)
HIT = re.compile(r"(?:# )?(\d\.\d{3})  (\S+)  (.+)")


def run(folder: Path, *command: str | Path) -> str:
    names = {name: value for name, value in os.environ.items() if not name.startswith(("SPANSEEK_", "PYTHON"))}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{names['PATH']}"
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=names | {"PATH": programs},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=400,
    )
    return done.stdout


def hits(lines: str) -> list[tuple[float, str, str]]:
    return [(float(each[1]), each[2], each[3]) for each in map(HIT.match, lines.splitlines()) if each]


@pytest.mark.ci("loads the shipped models in processes of its own")
@pytest.mark.timeout(900)
def test_the_examples_score_what_the_readme_says(tmp_path: Path) -> None:
    sample = tmp_path / "samples" / "documents" / "tickets.ndjson"  # a small one: indexing takes longest
    sample.parent.mkdir(parents=True)
    sample.write_text("".join((ROOT / "samples/documents/tickets.ndjson").read_text("utf-8").splitlines(True)[:3]))
    said, printed = hits(PYTHON), hits(run(tmp_path, sys.executable, "-c", PYTHON))
    assert len(said) == 2
    assert [hit[1:] for hit in printed] == [hit[1:] for hit in said]
    assert [hit[0] for hit in printed] == pytest.approx([hit[0] for hit in said], abs=0.02)  # processors round
    *commands, serve = SHELL.splitlines()
    assert serve.startswith("spanseek serve")
    found = run(tmp_path, "sh", "-ec", "\n".join(commands))
    assert re.search(r"call-3  \[0, \d+\).*Where is my parcel", found, re.DOTALL), found
