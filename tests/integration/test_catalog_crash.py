"""kill -9 at the worst moments: nothing acknowledged is lost, and the job can go on at once."""

import signal
import subprocess
import sys
from contextlib import closing

import pytest

from indexer.catalog.collections import Catalog
from indexer.catalog.leases import lease
from indexer.types import Recipe
from tests.waiting import PATIENCE_S

CHILD = """
import os, signal, sys
from indexer.catalog import leases, publish
from indexer.catalog.collections import Catalog
from indexer.types import DocumentRow, SegmentInfo

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "before the commit":
    publish._set_generation = die
with leases.lease(Catalog(sys.argv[1]), "calls") as held:
    segment = SegmentInfo("s1", "sha of s1", 1, parts=1, units=10, bytes=99)
    publish.publish(Catalog(sys.argv[1]), held, segment, [DocumentRow("a", 0, "h")])
    die()
"""


@pytest.mark.ci("kills processes")
@pytest.mark.parametrize(("moment", "generation"), [("before the commit", 0), ("after the commit", 1)])
def test_a_job_killed_with_minus_nine_is_resumed_at_once(url, put, moment, generation):
    with closing(Catalog(url)) as catalog:
        catalog.create_collection("calls", Recipe("hashing", "f1", 64))
        child = subprocess.run([sys.executable, "-c", CHILD, url, moment], timeout=PATIENCE_S, check=False)
        assert child.returncode == -signal.SIGKILL
        assert catalog.generation("calls") == generation
        assert catalog.content_hashes("calls", "a") == ({"a": "h"} if generation else {})
        with lease(catalog, "calls") as held:
            assert put(catalog, held, "a", segment="s1") == 1
        assert catalog.collection("calls").documents == 1
