"""Signing in on the page at an identity provider: its public settings, and the origin of its answers."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from app.answers import described
from app.settings import Settings
from models.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Provider:
    """An identity provider (OpenID Connect), and the public client that the page uses there."""

    issuer: Annotated[str, described("The issuer, whose discovery document has its addresses.")]
    client_id: Annotated[str, described("The public client, which has no secret.")]
    scope: Annotated[str, described("The scopes to ask for.")]

    @classmethod
    def of(cls, settings: Settings) -> "Provider | None":
        """The provider that the settings name, if any. Raises ``InvalidInput`` for a client without an issuer."""
        if not settings.jwt_client_id:
            return None
        if not settings.jwt_issuer:
            raise InvalidInput(
                "SPANSEEK_JWT_CLIENT_ID is set, and SPANSEEK_JWT_ISSUER is not.",
                hint="Set it to the issuer of the client, or leave both empty.",
                field="jwt_client_id",
            )
        return cls(settings.jwt_issuer, settings.jwt_client_id, settings.jwt_client_scope)

    @property
    def origin(self) -> str:
        """The origin of the issuer, to which the page may send requests as well as to its own server.

        >>> Provider("https://login.example/realms/main", "page", "openid").origin
        'https://login.example'
        """
        parts = urlsplit(self.issuer)
        return f"{parts.scheme}://{parts.netloc}"


@dataclass(frozen=True, slots=True)
class SignIn:
    """The sign-in options of a person, in addition to API keys."""

    provider: Annotated[Provider | None, described("The identity provider; null if there is none.")]
