"""Tokens of an identity provider: which are accepted, and what they open."""

import time
from typing import Any

import pytest

from app.http.app import create_app
from app.http.jwks import Jwks
from app.http.oidc import Issuer
from models.errors import InvalidInput
from tests.integration.http.conftest import Client
from tests.issuer import AUDIENCE, NAME, jwt, public_key, token

BODY = {"collection": "sample", "text": "cancel"}
SETTINGS = {"jwt_issuer": NAME, "jwt_audience": AUDIENCE}


class Provider:
    """The application with an issuer whose public keys can be exchanged."""

    def __init__(self, client: Client) -> None:
        self.client, self.keys = client, [public_key("one")]
        issuer: Issuer = client.app.state.issuer
        issuer._jwks = Jwks(NAME, "https://login.example/keys", fetch=lambda _: {"keys": self.keys}, wait_s=60.0)

    def ask(self, token: str | None, path: str = "", body: object = None) -> Any:
        self.client.headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.client.get(path) if path else self.client.post("/search", body or BODY)


@pytest.fixture
def provider(start, settings):
    """``provider(**settings)``: the application, with its issuer set up."""
    return lambda **changes: Provider(start(settings.model_copy(update=SETTINGS | changes)))


def test_a_token_opens_what_its_scopes_say(provider, problem) -> None:
    asked = provider()
    assert asked.ask(token()).json()["hits"]
    assert asked.ask(token(scope=["admin"])).json()["hits"]
    for scope in ("openid", "index", "searching", "", 7, None):
        problem(asked.ask(token(scope=scope)), 403, "forbidden")


def test_with_an_issuer_nobody_is_anonymous_and_keys_go_on(provider, problem, make_key) -> None:
    asked = provider()
    problem(asked.ask(None), 401, "unauthenticated")
    problem(asked.ask("ssk_00000000_whatever"), 401, "unauthenticated")
    assert asked.ask(make_key("search")).json()["hits"]


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "http://localhost/other"},
        {"aud": "other"},
        {"aud": None},
        {"exp": None},
        {"sub": None},
        {"exp": -31},
        {"nbf": 600},
    ],
)
def test_a_token_of_others_or_out_of_its_time_opens_nothing(provider, problem, claims) -> None:
    now = int(time.time())
    moments = {name: now + seconds for name, seconds in claims.items() if isinstance(seconds, int)}
    problem(provider().ask(token(**claims | moments)), 401, "unauthenticated")


def test_clocks_may_differ_a_little(provider) -> None:
    assert provider().ask(token(exp=int(time.time()) - 5)).status_code == 200


def test_signatures_are_checked_by_a_listed_algorithm_alone(provider, problem) -> None:
    asked = provider()
    good = token()
    problem(asked.ask(good[:-4] + ("AAAA" if good[-4:] != "AAAA" else "BBBB")), 401, "unauthenticated")
    problem(asked.ask(token("stranger")), 401, "unauthenticated")
    unsigned = jwt.encode(jwt.decode(good, options={"verify_signature": False}), None, "none", headers={"kid": "one"})
    problem(asked.ask(unsigned), 401, "unauthenticated")
    secret = jwt.encode({"sub": "ann"}, "x" * 32, "HS256", headers={"kid": "one"})
    problem(asked.ask(secret), 401, "unauthenticated")
    asked.keys = [public_key("one", "RSA")]
    problem(provider(jwt_algorithms="ES256").ask(token("one", "RSA")), 401, "unauthenticated")
    problem(asked.ask("a.b.c"), 401, "unauthenticated")


@pytest.mark.parametrize("algorithm", ["RS256", "PS512"])
def test_keys_of_rsa(provider, algorithm) -> None:
    asked = provider(jwt_algorithms="RS256, PS512")
    asked.keys = [public_key("one", "RSA")]
    assert asked.ask(token("one", "RSA", algorithm=algorithm)).json()["hits"]


def test_a_claim_gives_collections_and_without_it_there_are_none(provider, problem) -> None:
    asked = provider(jwt_collections_claim="spanseek.collections")
    assert asked.ask(token(spanseek={"collections": ["sample"]})).json()["hits"]
    for claims in ({"spanseek": {"collections": ["other"]}}, {"spanseek": "sample"}, {}):
        problem(asked.ask(token(**claims)), 404, "collection_not_found")
    assert asked.ask(token(), "/collections").json()["collections"] == []


def test_a_claim_gives_a_filter_that_always_holds(provider, problem) -> None:
    asked = provider(jwt_filter_claim="documents")
    listed = asked.ask(token(documents='kind = "call"'), "/collections/sample/documents").json()
    assert [each["id"] for each in listed["documents"]] == ["call-1", "call-2"]
    for wrong in (None, "", "kind =", 'part.speaker = "agent"', 7, {"key": "kind"}, []):
        problem(asked.ask(token(documents=wrong)), 401, "unauthenticated")


def test_a_claim_gives_the_value_of_a_key(provider, problem) -> None:
    asked = provider(jwt_filter_claim="tenant", jwt_filter_key="kind")
    for value, count in (("call", 2), (["call", "contract"], 3), ('call" or kind exists or kind = "', 0)):
        assert asked.ask(token(tenant=value), "/collections/sample").json()["documents"] == count
    problem(asked.ask(token()), 401, "unauthenticated")
    problem(asked.ask(token(tenant={"a": 1})), 401, "unauthenticated")


def test_an_issuer_without_keys_is_unavailable_to_tokens_alone(provider, problem, make_key) -> None:
    asked = provider()
    asked.keys = []
    problem(asked.ask(token()), 503, "issuer_unavailable")
    assert asked.ask(make_key("search")).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"jwt_audience": ""},
        {"jwt_algorithms": "HS256"},
        {"jwt_algorithms": "none"},
        {"jwt_algorithms": ""},
        {"jwt_issuer": "http://login.example"},
        {"jwt_jwks_url": "http://login.example/keys"},
        {"jwt_filter_key": "tenant"},
        {"jwt_filter_key": "part.speaker", "jwt_filter_claim": "speaker"},
        {"jwt_issuer": "", "jwt_client_id": "page"},
    ],
)
def test_settings_that_would_let_others_in_are_refused(settings, changes) -> None:
    with pytest.raises(InvalidInput):
        create_app(settings.model_copy(update=SETTINGS | changes))


def test_the_page_is_told_of_the_provider_and_may_ask_it_alone(start, settings) -> None:
    names = SETTINGS | {"jwt_client_id": "page", "jwt_client_scope": "openid search"}
    client = start(settings.model_copy(update=names))
    said = client.run(client.http.get("/sign-in")).json()
    assert said == {"provider": {"issuer": NAME, "client_id": "page", "scope": "openid search"}}
    policy = client.run(client.http.get("/")).headers["content-security-policy"]
    assert policy.endswith("connect-src 'self' http://localhost")
