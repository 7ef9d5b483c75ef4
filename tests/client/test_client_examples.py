"""The examples run as they stand there: scripts against a server, notebooks with the weights that ship."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.homes import Homes

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = {
    "quotes_langchain": r'^"The Client may terminate at any time .*" \(service-5\[85:171\], page 2\)$',
    "quotes_llama_index": r'^"terminate at any time" \(service-5\[\d+:\d+\], page 2\)$',
    "quotes_haystack": r'^"terminate at any time" \(service-5-2\[15:36\], page 2\)$',
    "highlights_qdrant": r'^1\.00 "terminate at any time" \(service-5, characters 15 to 36\)$',
}
NEEDED = {
    "quotes_langchain": "langchain_core",
    "quotes_llama_index": "llama_index.core",
    "quotes_haystack": "haystack",
    "highlights_qdrant": "qdrant_client",
}


@pytest.mark.slow("runs all notebooks")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_quotes_with_places(name: str, homes: Homes) -> None:
    pytest.importorskip(NEEDED[name])
    command = [sys.executable, EXAMPLES / f"{name}.py", homes.connected.url]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=200).stdout
    assert re.search(SCRIPTS[name], said, re.MULTILINE), said


@pytest.mark.slow("runs all notebooks")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for table in EXAMPLES.glob("*.csv"):
        shutil.copy(table, tmp_path)
    notebook = nbformat.read(path, as_version=4)
    shown = list(printed(notebook))
    runner = nbclient.NotebookClient(
        notebook, timeout=400, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    runner.execute()
    assert list(printed(notebook)) == shown
    assert shown


def printed(notebook: Any) -> Iterator[str]:
    """What cells print and tables show, without the decimals of scores, which differ among processors."""
    for cell in notebook.cells:
        texts = (
            one["text"] if one["output_type"] == "stream" else one["data"]["text/plain"]
            for one in cell.get("outputs", ())
        )
        # As one text: how a stream is cut into outputs is chance.
        if text := "".join(texts):
            yield re.sub(r"\s+", " ", re.sub(r"\d\.\d+", "0.0", text))
