"""The commands of research load torch and its company only when they run."""

import json
import subprocess
import sys

HEAVY = ["torch", "transformers", "scipy", "sklearn", "matplotlib", "faiss", "numba", "bm25s"]


def test_commands_import_nothing_heavy() -> None:
    code = (
        "import json, sys, research.cli.bench, research.cli.evaluation, research.cli.training;"
        f"print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
