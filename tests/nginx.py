"""A real nginx before a server, under a prefix that it cuts off, /spanseek, and under one that it keeps, /kept."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.waiting import until

CONFIGURATION = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
        location /spanseek/ {{ proxy_set_header X-Forwarded-Prefix /spanseek; proxy_pass {upstream}/; }}
        location /kept/ {{ proxy_set_header X-Forwarded-Prefix /kept; proxy_pass {upstream}; }}
        location = /kept {{ proxy_set_header X-Forwarded-Prefix /kept; proxy_pass {upstream}; }}
    }}
}}
"""


@contextmanager
def nginx(upstream: str, folder: Path) -> Iterator[str]:
    """The address of an nginx in front of a server; without nginx, tests are skipped."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("no nginx on this machine: apt-get install nginx")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    user = "user root;" if Path("/").owner() == folder.owner() else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, port=port, upstream=upstream, user=user))
    command = [program, "-p", str(folder), "-c", str(configuration), "-e", str(folder / "error.log")]
    with subprocess.Popen(command) as run:
        try:
            _wait(f"http://127.0.0.1:{port}/spanseek/health/live", run)
            yield f"http://127.0.0.1:{port}"
        finally:
            run.terminate()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    def answers() -> bool:
        assert process.poll() is None, "nginx ended"
        with suppress(httpx.TransportError):
            return httpx.get(url).status_code == 200
        return False

    until(answers)
