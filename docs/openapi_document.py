"""The OpenAPI document of the server as a file, for builds that read it.

python -m docs.openapi_document FILE
"""

import json
import sys
from pathlib import Path

from app.http.app import create_app
from app.settings import Settings


def written(path: Path) -> None:
    """Write the document, whatever the settings of this machine are."""
    path.write_text(json.dumps(create_app(Settings(_env_file=None)).openapi()), "utf-8")


if __name__ == "__main__":
    written(Path(sys.argv[1]))
