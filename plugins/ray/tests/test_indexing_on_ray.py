"""``spanseek index --engine ray`` on clusters of this machine: actors are killed, nodes, and the command itself."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.requests import SearchRequest
from app.settings import Settings
from indexer.catalog.collections import Catalog
from models.types import Document
from tests.workspace import Workspace, document

pytestmark = [pytest.mark.slow("starts a cluster"), pytest.mark.timeout(1500)]

PATIENCE = 600.0
WORDS = ["the", "parcel", "never", "came", "to", "my", "door", "please", "cancel", "invoice", "router", "slow", "again"]


def documents(count: int) -> list[Document]:
    rng = random.Random(7)
    return [document(f"d{at:04}", " ".join(rng.choices(WORDS, k=40)) + f". needle{at}") for at in range(count)]


MANY = documents(1_500)


def start(folder: Path, source: Path, address: str = "local") -> subprocess.Popen[str]:
    own = {
        "SPANSEEK_DATA_DIR": str(folder),
        "SPANSEEK_ENCODER": "hashing",
        "SPANSEEK_SEGMENT_UNITS": "500",
        "SPANSEEK_GRACE_S": "0",
        "SPANSEEK_RAY_ADDRESS": address,
        "SPANSEEK_RAY_ENCODERS": "2",
    }
    others = {name: value for name, value in os.environ.items() if not name.startswith("SPANSEEK_")}
    command = [sys.executable, "-m", "app", "index", "-c", "c", "--source", str(source), "--engine", "ray", "--json"]
    return subprocess.Popen(command, env=others | own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def encoders(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The actors of a command that have started."""
    below = psutil.Process(process.pid).children(recursive=True)
    return [each for each in below if each.is_running() and "EncoderActor" in " ".join(each.cmdline())]


def wait_until(process: subprocess.Popen[str], is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            pytest.fail(f"it ended, or took too long: {process.communicate()}")
        time.sleep(0.02)


def test_whatever_is_killed_every_document_is_there_once(tmp_path: Path) -> None:
    folder, plain, source = tmp_path / "clustered", tmp_path / "plain", tmp_path / "source.ndjson"
    folder.mkdir()
    plain.mkdir()
    source.write_text("".join(json.dumps({"id": one.id, "text": one.text}) + "\n" for one in MANY))
    with Workspace(folder):  # makes the catalog
        pass
    with closing(Catalog(Settings(_env_file=None, data_dir=folder).catalog_url)) as catalog:

        def published() -> int:
            return sum(collection.documents for collection in catalog.collections())

        process = start(folder, source)
        wait_until(process, lambda: published() > 0 and len(encoders(process)) == 2)
        killed, before = encoders(process)[0], published()
        killed.kill()
        wait_until(process, lambda: published() > before + 100 and killed.pid not in map(_pid, encoders(process)))
        cluster = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        psutil.wait_procs(cluster, timeout=PATIENCE)
        assert encoders_left(cluster) == []
        kept = published()
        assert 0 < kept < len(MANY)

        process = start(folder, source)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        report = json.loads(out)
        assert (report["unchanged"], report["documents"]) == (kept, len(MANY) - kept)
        assert published() == len(MANY)

    with Workspace(folder, words=True) as clustered, Workspace(plain, words=True) as single:
        assert clustered.folders() == clustered.live()
        single.index(MANY)
        for text in ("please cancel", "my door", "needle77"):
            request = SearchRequest("c", text=text, top_k=1000)
            answers = [each.service.search(request)[0] for each in (clustered, single)]
            assert replace(answers[0], took_ms=0.0, generation=0, cursor=None) == replace(
                answers[1], took_ms=0.0, generation=0, cursor=None
            )


def test_nodes_that_are_lost_take_no_document_with_them(tmp_path: Path) -> None:
    """Two of three nodes are killed amid a job, and one joins that was not there."""
    from ray.cluster_utils import Cluster

    store = 80 * 2**20
    folder, source = tmp_path / "clustered", tmp_path / "source.ndjson"
    folder.mkdir()
    source.write_text("".join(json.dumps({"id": one.id, "text": one.text}) + "\n" for one in MANY))
    with Workspace(folder):  # makes the catalog
        pass
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": store}
    )
    try:
        nodes = [cluster.add_node(num_cpus=1, object_store_memory=store) for _ in range(3)]
        with closing(Catalog(Settings(_env_file=None, data_dir=folder).catalog_url)) as catalog:

            def published() -> int:
                return sum(collection.documents for collection in catalog.collections())

            process = start(folder, source, cluster.address)
            for node in nodes[:2]:
                before = published()
                wait_until(process, lambda before=before: published() > before)  # type: ignore[misc]
                cluster.remove_node(node, allow_graceful=False)
            cluster.add_node(num_cpus=1, object_store_memory=store)
            out, err = process.communicate(timeout=PATIENCE)
            assert (process.returncode, out[:1]) == (0, "{"), (out, err)
            assert json.loads(out)["documents"] == published() == len(MANY)
        with Workspace(folder, words=True) as workspace:
            assert workspace.folders() == workspace.live()
            view_ids = [
                view.segment.document_id(row)
                for view in workspace.store.snapshot("c").views
                for row in view.live_documents.nonzero()[0].tolist()
            ]
        assert sorted(view_ids) == [one.id for one in MANY]
    finally:
        cluster.shutdown()


def encoders_left(cluster: list[psutil.Process]) -> list[psutil.Process]:
    return [each for each in cluster if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def _pid(process: psutil.Process) -> int:
    return process.pid
