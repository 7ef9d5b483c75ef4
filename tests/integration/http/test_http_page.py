"""The page: headers, caching, weight, and no address but its own."""

import gzip
import re

from app.http.page import Page

PAGE = Page.load()


def test_the_page_is_current_and_its_files_are_kept_for_a_year(client):
    response = client.get("/")
    assert response.headers["content-security-policy"].startswith("default-src 'self';")
    assert response.headers["cache-control"] == "no-cache"
    for path in re.findall(r'(?:href|src)="(page/[^"]+)"', response.text):
        assert "immutable" in client.get(f"/{path}").headers["cache-control"]
    again = client.run(client.http.get("/", headers={"If-None-Match": response.headers["etag"]}))
    assert (again.status_code, again.content) == (304, b"")


def test_other_versions_and_files_are_not_found(client):
    for path in ("/page/0/main.js", f"/page/{PAGE.version}/index.html", f"/page/{PAGE.version}/none.js"):
        assert client.get(path).status_code == 404


def test_the_page_weighs_at_most_150_kb_compressed():
    assert sum(len(gzip.compress(content)) for content in PAGE.contents.values()) <= 150_000


def test_no_file_names_another_host_or_sets_markup():
    for name, content in PAGE.contents.items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), name


def test_every_module_that_is_imported_is_there():
    for content in PAGE.contents.values():
        assert set(re.findall(r'from "\./([^"]+)"', content.decode())) <= PAGE.contents.keys()


def test_no_address_is_absolute():
    """The page may lie under a prefix; paths of the API are turned into relative ones where they are asked."""
    for name, content in PAGE.contents.items():
        assert not re.search(r"""(?:href|src)(?:=|: ?)["'`]/|fetch\(["'`]/|import ?\(?["'`]/""", content.decode()), name
