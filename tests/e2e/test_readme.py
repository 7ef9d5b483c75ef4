"""The README's examples run as they stand there."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
(CALLS,) = re.findall(r"^cat > calls.ndjson <<'END'\n(.*?)^END$", README, re.DOTALL | re.MULTILINE)
(PYTHON,) = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_the_python_example(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "calls.ndjson").write_text(CALLS, "utf-8")
    run("index", "--collection", "calls", "--source", str(tmp_path / "calls.ndjson"))
    exec(compile(PYTHON, "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(re.fullmatch(r"[01]\.\d\d  call-[12]\[\d+:\d+\]  .+", line) for line in lines)
