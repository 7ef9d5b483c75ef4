"""The page and the API behind a real nginx, under a prefix that it cuts off and under one that it keeps."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.page.conftest import window

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


@pytest.fixture(scope="module")
def proxy(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an nginx in front of the server; without nginx, tests are skipped."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        pytest.skip("no nginx on this machine: apt-get install nginx")
    folder = tmp_path_factory.mktemp("nginx")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    user = "user root;" if Path("/").owner() == Path(folder).owner() else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, port=port, upstream=address, user=user))
    with subprocess.Popen([nginx, "-p", str(folder), "-c", str(configuration), "-e", str(folder / "error.log")]) as run:
        try:
            _wait(f"http://127.0.0.1:{port}/spanseek/health/live", run)
            yield f"http://127.0.0.1:{port}"
        finally:
            run.terminate()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while True:
        assert process.poll() is None, "nginx ended"
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            assert time.monotonic() < deadline


@pytest.mark.parametrize("prefix", ["/spanseek", "/kept"])
def test_the_page_lives_below_its_prefix(browser, proxy: str, prefix: str) -> None:
    """The window fails the test if anything outside the prefix is asked for."""
    with window(browser, f"{proxy}{prefix}/", viewport={"width": 1280, "height": 900}) as page:
        page.goto("./?c=sample")
        page.get_by_label("Phrase", exact=True).fill("I never received my package")
        page.get_by_role("button", name="Search", exact=True).click()
        page.locator(".card mark").first.wait_for()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.locator(".pane .text mark").first.wait_for()
        page.keyboard.press("Escape")
        for view, there in (("API", "The OpenAPI document"), ("Data", "Collections"), ("Search", "Search")):
            page.get_by_role("navigation").get_by_role("link", name=view, exact=True).click()
            page.get_by_text(there, exact=True).first.wait_for()
            assert page.url.startswith(f"{proxy}{prefix}/")


@pytest.mark.parametrize("prefix", ["/spanseek", "/kept"])
def test_the_api_names_its_prefix(proxy: str, prefix: str) -> None:
    with httpx.Client(base_url=proxy, timeout=60) as client:
        assert client.get(f"{prefix}/openapi.json").json()["servers"] == [{"url": prefix}]
        bare = client.get(prefix)
        assert bare.is_redirect
        assert bare.headers["location"].removeprefix(proxy) == f"{prefix}/"
        hits = client.post(f"{prefix}/search", json={"collection": "sample", "text": "refund"}).json()["hits"]
        assert hits
