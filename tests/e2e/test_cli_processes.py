"""The real command, killed and interrupted in the middle of its work."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.phrases import PhraseDraft
from tests.workspace import Workspace, document

SPANSEEK = Path(sys.executable).with_name("spanseek")
PATIENCE = 120.0
CALLS = [document(f"d{number:03}", f"needle{number} " + "hay " * 150) for number in range(800)]


@dataclass(frozen=True)
class Job:
    """A ``spanseek index`` that was sent a signal in the middle of its work, and what it left."""

    folder: Path
    code: int
    out: str
    err: str


def environment(folder: Path) -> dict[str, str]:
    own = {"SPANSEEK_DATA_DIR": str(folder), "SPANSEEK_ENCODER": "hashing", "SPANSEEK_SEGMENT_UNITS": "1000"}
    return {name: value for name, value in os.environ.items() if not name.startswith("SPANSEEK_")} | own


def start(folder: Path, source: Path) -> subprocess.Popen[str]:
    with Workspace(folder):  # makes the catalog, so that it can be looked into from now on
        pass
    return subprocess.Popen(
        [SPANSEEK, "index", "--collection", "c", "--source", source, "--json"],
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_published(folder: Path, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    with closing(Catalog(Settings(_env_file=None, data_dir=folder).catalog_url)) as catalog:
        while time.monotonic() < end and process.poll() is None:
            if any(collection.generation for collection in catalog.collections()):
                return
            time.sleep(0.01)
    process.kill()
    pytest.fail(f"it ended, or took too long, before anything was published: {process.communicate()}")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """One job that was killed, one that was interrupted. They start together, because that takes long."""
    source = tmp_path_factory.mktemp("source") / "calls.ndjson"
    source.write_text("".join(json.dumps({"id": one.id, "text": one.text}) + "\n" for one in CALLS))
    signals = {"killed": signal.SIGKILL, "interrupted": signal.SIGINT}
    folders = {name: tmp_path_factory.mktemp(name) for name in signals}
    processes = {name: start(folder, source) for name, folder in folders.items()}
    with ThreadPoolExecutor() as threads:
        waiting = [threads.submit(wait_until_published, folders[name], processes[name]) for name in signals]
        for name, future in zip(signals, waiting, strict=True):
            future.add_done_callback(lambda _, name=name: processes[name].send_signal(signals[name]))
        for future in waiting:
            future.result()
    outputs = {name: process.communicate(timeout=PATIENCE) for name, process in processes.items()}
    return {name: Job(folders[name], processes[name].returncode, *outputs[name]) for name in signals}


def check_resumed(folder: Path) -> int:
    """Run the job again; every document must be there once. Returns how many had been published before."""
    with Workspace(folder, words=True) as workspace:
        before = workspace.catalog.collection("c").documents
        report = workspace.index(CALLS)
        assert (report.documents, report.unchanged) == (len(CALLS) - before, before)
        assert workspace.catalog.collection("c").documents == len(CALLS)
        assert workspace.folders() == workspace.live()
        for number in range(0, len(CALLS), 80):
            assert workspace.found(f"needle{number}") == {(f"d{number:03}", f"needle{number}")}
    return before


@pytest.mark.slow("catches jobs before they end")
def test_a_killed_job_is_resumed_at_once(jobs: dict[str, Job]) -> None:
    assert jobs["killed"].code == -signal.SIGKILL
    assert 0 < check_resumed(jobs["killed"].folder) < len(CALLS)


@pytest.mark.slow("catches jobs before they end")
def test_ctrl_c_publishes_what_was_read(jobs: dict[str, Job]) -> None:
    job = jobs["interrupted"]
    assert job.code == 130
    assert "Stopping: publishing what has been read." in job.err
    assert "Run the same command again" in job.err
    assert "Traceback" not in job.err
    report = json.loads(job.out.splitlines()[-1])
    assert 0 < report["documents"] < len(CALLS)
    assert check_resumed(job.folder) == report["documents"]


@pytest.mark.slow("catches jobs before they end")
def test_the_command_searches_what_was_published(jobs: dict[str, Job]) -> None:
    found = subprocess.run(
        [SPANSEEK, "search", "needle7", "--collection", "c", "--top-k", "1", "--json"],
        env=environment(jobs["killed"].folder),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    answer = json.loads(found.stdout.splitlines()[-1])
    assert answer["generation"] >= 1
    assert answer["hits"][0]["text"] == "needle7"


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["search", "a", "-c", "none"], 1), (["--no"], 2)])
def test_the_process_exits_with_the_commands_code_and_all_its_output(tmp_path, arguments, code) -> None:
    environment = os.environ | {"SPANSEEK_DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "app", *arguments], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert (done.stdout if code == 0 else done.stderr).endswith("\n")


INTERRUPTED = """
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "app.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from app.__main__ import run
run()
"""


def test_ctrl_c_while_modules_are_imported_is_silent() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.slow("catches jobs before they end")
def test_ctrl_c_ends_the_tools_of_language_models(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    pipe = subprocess.PIPE
    command = [SPANSEEK, "mcp", "--url", "http://127.0.0.1:9"]
    with subprocess.Popen(command, env=environment(tmp_path), stdin=pipe, stdout=pipe, stderr=pipe, text=True) as mcp:
        assert mcp.stdin is not None
        assert mcp.stdout is not None
        mcp.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        mcp.stdin.flush()
        assert mcp.stdout.readline(), "it reads standard input"
        mcp.send_signal(signal.SIGINT)
        try:
            assert mcp.wait(timeout=PATIENCE) == 130
        finally:
            mcp.kill()
        assert mcp.stderr is not None
        assert mcp.stderr.read() == ""


def test_a_port_that_is_taken_is_said_before_tools_are_served(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [SPANSEEK, "mcp", "--url", "http://127.0.0.1:9", "--port", port]
        done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"Cannot listen on 127.0.0.1, port {port}" in done.stderr


@pytest.mark.slow("catches jobs before they end")
def test_tools_of_a_folder_that_cannot_be_opened_are_refused_in_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    with Workspace(tmp_path):
        pass
    wrong = environment(tmp_path) | {"SPANSEEK_ENCODER": "none"}
    done = subprocess.run([SPANSEEK, "mcp"], env=wrong, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: There is no encoder named 'none'.")


def test_a_reader_that_stops_early_is_no_error(tmp_path) -> None:
    command = f"{sys.executable} -m app --help | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_matches_are_followed_until_ctrl_c(tmp_path: Path) -> None:
    with Workspace(tmp_path) as made:
        made.index([document("a", "needle in the hay")])
        made.phrases.add("c", PhraseDraft("needle", "needle in the hay", 0.9), backfill=True)
    follow = [SPANSEEK, "phrases", "matches", "--collection", "c", "--follow", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(follow, env=environment(tmp_path), stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["document_id"] == "a"
        with Workspace(tmp_path) as made:
            made.index([document("b", "needle in the hay")])
        assert json.loads(process.stdout.readline())["document_id"] == "b"
        process.send_signal(signal.SIGINT)
        last_lines = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert last_lines[0] == ""
        cursor = last_lines[1].split()[-1]
    with Workspace(tmp_path) as made:
        assert made.phrases.events("c", 10, cursor).events == ()
