"""Tokens of an identity provider (JWT, as of OpenID Connect) in place of API keys.

A token is verified by the issuer's public keys and becomes a :class:`Key`: its claims give scopes, collections and the
filter that always holds. What a setting expects of a claim and the token lacks is refused, never taken for "all".
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from app.http.jwks import Jwks, checked_url
from app.http.problems import Unauthenticated
from app.settings import Settings, listed
from indexer.catalog.keys import SCOPES, Key
from indexer.filters.expression import Comparison, Expression, Field
from indexer.filters.json_form import document_expression_of
from indexer.filters.strings import parsed_field
from models.errors import InvalidInput

# Algorithms with a public key. One with a secret would let whoever has the server's settings make tokens.
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_REQUIRED: Final = ["exp", "iss", "aud", "sub"]
_HINT: Final = "Ask the identity provider for a new token, for this audience."


@dataclass(frozen=True, slots=True)
class Claims:
    """The names of the claims that give rights; empty for those that are not read.

    Names are those of claims, or paths through objects, such as ``resource_access.spanseek.roles``.
    """

    scopes: str = "scope"
    collections: str = ""
    filter: str = ""
    filter_field: Field | None = None


class Issuer:
    """An issuer whose tokens are accepted for an audience. ``leeway_s`` is how far its clock may differ."""

    def __init__(
        self, issuer: str, audience: str, jwks: Jwks, claims: Claims, *, algorithms: Sequence[str], leeway_s: float
    ) -> None:
        self._issuer, self._audience, self._jwks, self._claims = issuer, audience, jwks, claims
        self._algorithms, self._leeway_s = list(algorithms), leeway_s

    @classmethod
    def of(cls, settings: Settings) -> "Issuer | None":
        """The issuer that the settings name, if any. Raises ``InvalidInput`` for settings that do not fit."""
        if not settings.jwt_issuer:
            return None
        algorithms = listed(settings.jwt_algorithms)
        if not settings.jwt_audience:
            raise _unset("jwt_audience", "the audience that its tokens must name")
        if not algorithms or not set(algorithms) <= set(ALGORITHMS):
            raise _unset("jwt_algorithms", f"one or more of {', '.join(ALGORITHMS)}")
        if settings.jwt_filter_key and not settings.jwt_filter_claim:
            raise _unset("jwt_filter_claim", "the claim that is compared with SPANSEEK_JWT_FILTER_KEY")
        _require_pyjwt()
        for url in (settings.jwt_issuer, settings.jwt_jwks_url or settings.jwt_issuer):
            checked_url(url)
        claims = Claims(
            settings.jwt_scopes_claim,
            settings.jwt_collections_claim,
            settings.jwt_filter_claim,
            _filter_field(settings.jwt_filter_key),
        )
        jwks = Jwks(settings.jwt_issuer, settings.jwt_jwks_url)
        return cls(
            settings.jwt_issuer,
            settings.jwt_audience,
            jwks,
            claims,
            algorithms=algorithms,
            leeway_s=settings.jwt_leeway_s,
        )

    def key(self, token: str) -> Key:
        """The rights of a token. Blocks. Raises ``Unauthenticated``, and ``IssuerUnavailable``."""
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            return self._key(self._verified(token, header))
        except jwt.PyJWTError as error:
            raise Unauthenticated(f"The token is not valid: {error}.", hint=_HINT) from error
        except InvalidInput as error:  # of a filter
            raise Unauthenticated(f"The token's filter is not valid: {error}", hint=error.hint) from error

    def _verified(self, token: str, header: Mapping[str, Any]) -> dict[str, Any]:
        import jwt

        algorithm = header.get("alg")
        if algorithm not in self._algorithms:  # before a key is asked for
            raise jwt.InvalidAlgorithmError(f"its algorithm is not one of {', '.join(self._algorithms)}")
        jwk = self._jwks.key(header.get("kid"))
        if jwk is None:
            raise jwt.InvalidKeyError("the issuer has no key of its id")
        return jwt.decode(
            token,
            jwt.PyJWK(dict(jwk), algorithm=jwk.get("alg") or algorithm),
            algorithms=self._algorithms,
            audience=self._audience,
            issuer=self._issuer,
            leeway=self._leeway_s,
            options={"require": _REQUIRED, "enforce_minimum_key_length": True},
        )

    def _key(self, claims: Mapping[str, Any]) -> Key:
        subject = str(claims["sub"])
        collections = self._claims.collections
        return Key(
            id=f"jwt-{hashlib.sha256(f'{self._issuer} {subject}'.encode()).hexdigest()[:12]}",
            name=subject,
            scopes=tuple(scope for scope in SCOPES if scope in _names(_claim(claims, self._claims.scopes))),
            collections=_names(_claim(claims, collections)) if collections else None,
            created_at=datetime.now(UTC),
            filter=self._filter(claims),
        )

    def _filter(self, claims: Mapping[str, Any]) -> Expression | None:
        if not self._claims.filter:
            return None
        value, field = _claim(claims, self._claims.filter), self._claims.filter_field
        if value is None or value in ("", [], {}):
            raise Unauthenticated(
                f"The token has no claim {self._claims.filter!r}, which says of which documents it may know.",
                hint=_HINT,
            )
        if field is None:
            return document_expression_of(value)
        return Comparison(field, "in", tuple(value)) if isinstance(value, list) else Comparison(field, "=", value)


def _claim(claims: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401  # JSON
    """The claim of a name, or what a path of names leads to; None if there is none.

    >>> _claim({"realm_access": {"roles": ["search"]}}, "realm_access.roles")
    ['search']
    """
    if name in claims:
        return claims[name]
    value: Any = claims
    for step in name.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _names(value: object) -> tuple[str, ...]:
    """The names of a claim: of a list its strings, of a string its words.

    >>> _names("openid search"), _names(["calls"]), _names(None)
    (('openid', 'search'), ('calls',), ())
    """
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _filter_field(key: str) -> Field | None:
    if not key:
        return None
    field = parsed_field(key)
    if field.level == "part":
        raise _unset("jwt_filter_key", "a key of the metadata of documents, or document.id")
    return field


def _require_pyjwt() -> None:
    try:
        import jwt  # noqa: F401
    except ImportError as error:
        raise InvalidInput(
            "SPANSEEK_JWT_ISSUER is set, but PyJWT is not installed.",
            hint="Install it with `pip install 'spanseek[oidc]'`, or leave the setting empty.",
            field="jwt_issuer",
        ) from error


def _unset(setting: str, what: str) -> InvalidInput:
    return InvalidInput(
        f"SPANSEEK_JWT_ISSUER is set, and SPANSEEK_{setting.upper()} does not fit.",
        hint=f"Set it to {what}.",
        field=setting,
    )
