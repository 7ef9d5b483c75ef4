"""Speed and memory of the readers of files, and what bombs cost them.

    python -m research.benchmarks.readers FILES... [--json]
    python -m research.benchmarks.readers --bombs [--json]

Every file is read in a process of its own. Seconds are those of the processor, with what the reader starts; memory is
the greatest of all processes. A bomb ends well if it takes at most 10 seconds and 500 MB, whether it is refused
or read.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from app.cli.console import out, print_json
from indexer.errors import SourceUnreadable
from indexer.sources import BadRecord, Source
from models.types import Document
from research.benchmarks.bombs import BOMBS

MOST_S: Final = 10.0
MOST_MB: Final = 500.0
# What ends a run that nothing else ends, in seconds by the clock.
_PATIENCE_S: Final = 600
# Of addresses, which a reader without bounds would go on taking.
_MOST_BYTES: Final = 6 * 2**30


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a file: processor seconds and peak memory, and the words that were read, or why none were."""

    name: str
    megabytes: float
    seconds: float
    peak_mb: float
    documents: int
    words: int
    said: str

    @property
    def is_bounded(self) -> bool:
        """True if it ends within the bounds of bombs."""
        return self.seconds <= MOST_S and self.peak_mb <= MOST_MB


def read(path: Path) -> Cost:
    """Read a file in this process."""
    documents, words, said = 0, 0, ""
    try:
        for record in Source(path):
            if isinstance(record, Document):
                documents += 1
                words += len(record.text.split())
            elif isinstance(record, BadRecord):
                said = said or record.reason
    except SourceUnreadable as error:
        said = str(error)
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(each.ru_utime + each.ru_stime for each in usage)
    peak = max(_own_peak_kb(), usage[1].ru_maxrss) / 1024
    return Cost(path.name, path.stat().st_size / 1e6, round(seconds, 2), round(peak, 1), documents, words, said)


def _own_peak_kb() -> int:
    """The peak memory of this process; that of ``getrusage`` has the memory of the one that started it as well."""
    (line,) = (each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1])


def measured(path: Path) -> Cost:
    """Read a file in a process of its own."""
    command = [sys.executable, "-m", "research.benchmarks.readers", "--one", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True)
    except subprocess.SubprocessError as error:
        return Cost(path.name, path.stat().st_size / 1e6, float("inf"), float("inf"), 0, 0, f"ended by {error}")
    return Cost(**json.loads(done.stdout))


def detonated(names: Iterable[str] = BOMBS) -> Iterator[Cost]:
    """The costs of bombs, each of which is made when its turn comes."""
    for name in names:
        with TemporaryDirectory(prefix="bombs-") as folder:
            path = Path(folder) / name
            path.write_bytes(BOMBS[name]())
            yield measured(path)


def table(costs: Iterable[Cost]) -> Iterator[str]:
    """A row for every file, as a table of Markdown."""
    yield "| file | MB | s | peak MB | documents | words | said |"
    yield "|---|---|---|---|---|---|---|"
    for one in costs:
        mark = "" if one.is_bounded else " **beyond bounds**"
        said = f"{one.said[:80].replace('|', ' ')}{mark}"
        figures = f"{one.megabytes:.2f} | {one.seconds:.2f} | {one.peak_mb:.0f} | {one.documents:,} | {one.words:,}"
        yield f"| {one.name} | {figures} | {said} |"


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--bombs", nargs="*", help="these bombs; without names, all")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.one:
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
        print_json(asdict(read(options.one)))
        return
    costs = chain(map(measured, options.files), detonated(() if options.bombs is None else options.bombs or BOMBS))
    if options.json:
        print_json([asdict(cost) for cost in costs])
        return
    for line in table(costs):
        out.print(line, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
