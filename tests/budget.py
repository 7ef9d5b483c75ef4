"""Runs a tier of tests and compares its time with its budget: ``python -m tests.budget test`` or ``ci``.

CPU minutes are those of all processes that were waited for. They differ less on a busy machine than minutes on the
clock, whose budget is for two idle cores.
"""

import resource
import subprocess
import sys
import time
from typing import Final

# The command of a tier, its CPU minutes and its minutes on the clock.
BUDGETS: Final = {
    "test": (["make", "test"], 9.0, 5.0),
    "ci": (["bash", ".ci/run"], 28.0, 15.0),
    "all": (["make", "test-all"], None, None),
}


def measured(command: list[str]) -> tuple[int, float, float]:
    """The exit status of a command, its CPU minutes, and its minutes on the clock."""
    started = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, (usage.ru_utime + usage.ru_stime) / 60, (time.monotonic() - started) / 60


def main(tier: str) -> int:
    """Run a tier, print its figures, and return 1 if it fails or takes more CPU time than its budget."""
    command, cpu_budget, wall_budget = BUDGETS[tier]
    status, cpu, wall = measured(command)
    limits = f" of at most {cpu_budget:g} and {wall_budget:g}" if cpu_budget else ""
    print(f"{' '.join(command)}: exit {status}, {cpu:.1f} CPU minutes, {wall:.1f} minutes on the clock{limits}")
    return int(status != 0 or (cpu_budget is not None and cpu > cpu_budget))


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
