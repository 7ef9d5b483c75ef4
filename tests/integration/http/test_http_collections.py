"""Collections over HTTP: created, described, deleted."""

import pytest

ROOT = "/collections/calls"
CALL = {"id": "call-1", "text": "I want to cancel my subscription."}


@pytest.fixture
def admin(start, settings):
    """A client that may change the collections at will."""
    started = start(settings)
    started.put = lambda path, body=None: started.run(started.http.put(path, json=body, headers=started.headers))
    started.delete = lambda path: started.run(started.http.delete(path, headers=started.headers))
    return started


@pytest.mark.smoke
def test_a_collection_from_its_creation_to_its_end(admin, problem, settings) -> None:
    created = admin.put(ROOT, {"span_units": {"shortest": 1, "longest": 6}})
    assert created.status_code == 201, created.text
    assert created.json() == admin.get(ROOT).json()
    assert (created.json()["encoder"], created.json()["span_units"]) == ("hashing", {"shortest": 1, "longest": 6})
    assert admin.post(f"{ROOT}/documents", CALL).json()["results"] == [{"id": "call-1", "status": "indexed"}]
    assert admin.search(collection="calls", text="cancel my subscription")["hits"][0]["document_id"] == "call-1"
    again = admin.put(ROOT)
    assert (again.status_code, again.json()["documents"]) == (200, 1)

    assert admin.delete(ROOT).json() == {"name": "calls", "status": "deleted"}
    problem(admin.get(ROOT), 404, "collection_not_found")
    problem(admin.delete(ROOT), 404, "collection_not_found")
    admin.refused(404, "collection_not_found", collection="calls", text="cancel")
    assert [each["name"] for each in admin.get("/collections").json()["collections"]] == ["sample"]
    assert len(list((settings.data_dir / "collections").iterdir())) == 1


@pytest.mark.smoke
def test_a_new_collection_of_an_old_name_is_empty(admin, monkeypatch) -> None:
    monkeypatch.setattr("indexer.freshness.FRESH_S", -1.0)  # every search looks at the catalog
    admin.put(ROOT)
    admin.post(f"{ROOT}/documents", CALL)
    assert admin.search(collection="calls", text="cancel")["generation"] == 1
    admin.delete(ROOT)
    admin.put(ROOT)
    assert admin.search(collection="calls", text="cancel")["hits"] == []
    admin.post(f"{ROOT}/documents", CALL | {"text": "Where is my parcel?"})
    # Its generation is that of the old one; its vectors are not.
    assert admin.search(collection="calls", text="my parcel")["hits"][0]["text"] == "my parcel"


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"span_units": {"shortest": 1, "longest": 9}}, 409, "recipe_mismatch", "collection"),
        ({"span_units": {"shortest": 9, "longest": 8}}, 422, "invalid_input", "span_units"),
        ({"encoder": "no-such"}, 422, "invalid_input", "encoder"),
        ({"nugget_ratio": 1.5}, 422, "invalid_input", "nugget_ratio"),
        ({"nuggets": 0.1}, 422, "invalid_input", "nuggets"),
        ({"representations": {"nuggets": 0.1}}, 422, "invalid_input", "representations.nuggets"),
        ({"representations": {"nuggets": {"ratio": 1.5}}}, 422, "invalid_input", "representations.nuggets"),
        ({"representations": {"nugets": {}}}, 422, "invalid_input", "representations"),
        ({"representations": {"nuggets": {"ratio": 0.1}}, "nugget_ratio": 0.2}, 422, "invalid_input", "nugget_ratio"),
    ],
)
def test_what_cannot_be_created(admin, problem, body, status, code, field) -> None:
    refused = problem(admin.put("/collections/sample", body), status, code)
    assert refused["errors"][0]["field"] == field


def test_representations_are_named_or_given_by_their_older_fields(admin) -> None:
    named = admin.put(ROOT, {"representations": {"nuggets": {"ratio": 0.2}, "words": None}})
    assert (named.status_code, named.json()["representations"]) == (201, ["units", "nuggets"])
    assert named.json()["nuggets"]["ratio"] == 0.2
    for same in ({"nugget_ratio": 0.2, "words": False}, {"representations": {"nuggets": {}}}, {}):
        assert admin.put(ROOT, same).status_code == 200
    assert admin.put(ROOT, {"representations": {"words": {}}}).status_code == 409


def test_names_that_no_collection_may_have(admin, problem) -> None:
    problem(admin.put("/collections/Not%20So"), 422, "invalid_input")


def test_only_administrators_create_and_delete(admin, make_key, problem) -> None:
    for token in (make_key("search"), make_key("index")):
        admin.headers = {"Authorization": f"Bearer {token}"}
        problem(admin.put(ROOT), 403, "forbidden")
        problem(admin.delete(ROOT), 403, "forbidden")
    admin.headers = {"Authorization": f"Bearer {make_key('admin', collections=['sample'])}"}
    problem(admin.put(ROOT), 403, "forbidden")
    problem(admin.delete(ROOT), 404, "collection_not_found")
    admin.headers = {"Authorization": f"Bearer {make_key('admin', collections=['calls'])}"}
    assert admin.put(ROOT).status_code == 201
    assert admin.delete(ROOT).status_code == 200


def test_a_backbone_is_not_named_over_http(admin, problem) -> None:
    problem(admin.put(ROOT, {"encoder": "untrained@hub:owner/name"}), 422, "invalid_input")
    task = {"kind": "reindex", "collection": "sample", "encoder": "untrained@/etc"}
    problem(admin.post("/tasks", task), 422, "invalid_input")
