"""The picture in the README: what a search prints, as SVG.

    python -m research.benchmarks.picture [--out docs/search.svg]

It searches the collection ``sample`` as ``make run`` indexes it, in ``SPANSEEK_DATA_DIR``. What a search took is left
out: on the command line that is mostly the time to load a model.
"""

import argparse
import io
from contextlib import closing
from pathlib import Path

from rich.console import Console

from app.cli.search import show_judged
from app.requests import VERIFIED, SearchRequest
from app.search.service import SearchService
from app.services import Services, open_store
from app.settings import Settings

PHRASE = "my husband passed away recently"
_WIDTH = 100


def main() -> None:
    """Search, and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/search.svg"))
    options = parser.parse_args()
    settings = Settings()
    store = open_store(settings)
    with closing(store.catalog):
        request = SearchRequest("sample", text=PHRASE, top_k=3, context=60, verify=VERIFIED)
        (answer,) = Services(settings, store).get(SearchService).search(request)
    console = Console(
        file=io.StringIO(), record=True, width=_WIDTH, highlight=False, force_terminal=True, color_system="truecolor"
    )
    console.print(f'[bold]$[/bold] spanseek search "{PHRASE}" --collection sample --top-k 3 --context 60')
    show_judged(answer.hits, bool(answer.verified), console)
    # A fixed id, so that the same hits make the same file.
    options.out.write_text(console.export_svg(title="spanseek", unique_id="search"), "utf-8")


if __name__ == "__main__":
    main()
