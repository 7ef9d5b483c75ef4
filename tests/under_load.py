"""Run a command several times beside busy loops, and print a table: no test depends on how busy the machine is.

python -m tests.under_load [--runs 5] [--loops 4] [COMMAND ...]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep as many processors busy while the block runs."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def row(number: int, command: list[str], log: Path) -> tuple[int, str]:
    """Run the command once; its exit status, and its row of the table."""
    started = time.monotonic()
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall, cpu = time.monotonic() - started, used.ru_utime + used.ru_stime
    failed = ", ".join(dict.fromkeys(_FAILED.findall(log.read_text("utf-8", "replace")))) or "none"
    return process.returncode, f"| {number} | {process.returncode} | {wall / 60:.1f} | {cpu / 60:.1f} | {failed} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--loops", type=int, default=4)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="`bash .ci/run` by default")
    given = parser.parse_args()
    folder, statuses = Path(tempfile.mkdtemp(prefix="under-load-")), []
    print(f"{folder}\n\n| run | exit status | wall minutes | CPU minutes | failed tests |\n|---|---|---|---|---|")
    with busy(given.loops):
        for number in range(1, given.runs + 1):
            status, shown = row(number, given.command or ["bash", ".ci/run"], folder / f"{number}.log")
            statuses.append(status)
            print(shown, flush=True)
    sys.exit(any(statuses))


if __name__ == "__main__":
    main()
