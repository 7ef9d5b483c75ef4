"""Processes that measure: each with its own interpreter, so many threads, and one line of JSON to answer with."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from research.benchmarks.engines.registry import EngineEntry

_ROOT = Path(__file__).parents[2]
# Libraries that start threads of their own are told how many; the worker's cores are limited as well.
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TOKIO_WORKER_THREADS",
    "LANCE_CPU_THREADS",
)
_ENGINE_TIMEOUT_S = 4 * 3600


class EngineSkipped(Exception):
    """An engine was not measured; the message says why."""


def python_of(entry: EngineEntry, envs: Path | None) -> str:
    """The interpreter that has an engine's package. Raises ``EngineSkipped`` where there is none."""
    if entry.environment is None:
        return sys.executable
    if envs is None:
        raise EngineSkipped("needs an environment of its own: name the folder of environments with --envs")
    python = envs / entry.environment / "bin" / "python"
    if not python.exists():
        raise EngineSkipped(f"no environment {entry.environment!r} in {envs}: see research/notes/benchmarks.md")
    return str(python.absolute())


def run_module(python: str, module: str, arguments: list[str], threads: int) -> dict[str, Any]:
    """Run a module in a process of its own, and read the JSON in the last line it prints."""
    variables = os.environ | {name: str(threads) for name in _THREAD_VARIABLES} | {"PYTHONPATH": str(_ROOT)}
    command = [python, "-m", module, *arguments, f"--threads={threads}"]
    try:
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=_ENGINE_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise EngineSkipped(f"took longer than {_ENGINE_TIMEOUT_S} s") from error
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise EngineSkipped(f"failed with {done.returncode}: {''.join(last)}")
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer
