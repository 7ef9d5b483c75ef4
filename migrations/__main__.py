"""``python -m migrations "what changed" [PLUGIN]``: writes the next step into ``versions``, for you to check."""

import sys
import tempfile

from indexer.catalog.schema import draft

with tempfile.TemporaryDirectory() as folder:
    draft(f"sqlite:///{folder}/catalog.db", message=sys.argv[1], plugin="".join(sys.argv[2:]))
