"""An identity provider in this process: it has a key, signs tokens, and says its public keys."""

import json
import time
from functools import cache
from typing import Any

import pytest

jwt = pytest.importorskip("jwt", reason="the extra oidc is not installed")

NAME = "http://localhost/issuer"
AUDIENCE = "spanseek"


@cache
def private_key(id: str, kind: str = "EC") -> Any:
    """The private key of this id, made once."""
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if kind == "RSA":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1())


def public_key(id: str, kind: str = "EC") -> dict[str, Any]:
    """Its public part as JWK."""
    algorithm = jwt.algorithms.RSAAlgorithm if kind == "RSA" else jwt.algorithms.ECAlgorithm
    return json.loads(algorithm.to_jwk(private_key(id, kind).public_key())) | {"kid": id, "use": "sig"}


def token(id: str = "one", kind: str = "EC", *, algorithm: str = "", **claims: Any) -> str:
    """A token that is valid for a minute, with more claims, or others; None leaves one out."""
    now = int(time.time())
    usual = {"iss": NAME, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 60, "scope": "openid search"}
    payload = {name: value for name, value in (usual | claims).items() if value is not None}
    algorithm = algorithm or ("RS256" if kind == "RSA" else "ES256")
    return jwt.encode(payload, private_key(id, kind), algorithm, headers={"kid": id})
