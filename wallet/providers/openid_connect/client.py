"""The credentials of this service at an OpenID provider: client ID, and secret or private key (RFC 7523)."""

import json
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwcrypto.jwk import JWK

from wallet.providers.options import Options

METHODS = ("client_secret_basic", "client_secret_post", "private_key_jwt")
SHORTEST_RSA = 2048


@dataclass(frozen=True, repr=False)
class ClientKey:
    """A private key that signs client assertions. The provider knows its public half by `kid`."""

    key: JWK
    kid: str
    algorithm: str

    def public(self) -> dict[str, object]:
        """The public half as a JWK."""
        return {**self.key.export_public(as_dict=True), "kid": self.kid, "alg": self.algorithm, "use": "sig"}


@dataclass(frozen=True)
class ClientRegistration:
    """What the provider knows this service by."""

    id: str
    method: str
    secret: str = field(repr=False, default="")
    key: ClientKey | None = None
    next_key: ClientKey | None = None
    audience: str = "issuer"  # whose name is the `aud` of an assertion: "issuer" or "token_endpoint"

    def jwks(self) -> bytes:
        """The public keys as a JWK set: the one in use, and the one that will follow it."""
        keys = [key.public() for key in (self.key, self.next_key) if key]
        return json.dumps({"keys": keys}).encode()


@dataclass(frozen=True)
class Registration:
    """What the settings of every OpenID provider have, whatever it is there for.

    algorithms: the signatures that are accepted. private_network: whether the provider may be there.
    loopback: whether it may be at http on this machine.
    """

    issuer: str
    client: ClientRegistration
    scope: str
    acr_values: str
    algorithms: tuple[str, ...]
    private_network: bool
    loopback: bool


def read(options: Options) -> ClientRegistration:
    """The client as the settings describe it. Raises `OptionError`."""
    has_key = bool(options.text("client_key", ""))
    method = options.choice("client_auth", METHODS, "private_key_jwt" if has_key else "client_secret_basic")
    algorithm = options.choice("client_key_algorithm", ("RS256", "PS256"), "RS256")  # of an RSA key
    audience = options.choice("client_assertion_audience", ("issuer", "token_endpoint"), "issuer")
    client_id = options.text("client_id")
    unused = "client_secret" if method == "private_key_jwt" else "client_key"
    if options.text(unused, ""):
        raise options.error(unused, f"must not be set with {method}")
    if method != "private_key_jwt":
        return ClientRegistration(client_id, method, options.text("client_secret"))
    key = _key(options, "client_key", algorithm)
    next_key = _key(options, "next_client_key", algorithm) if options.text("next_client_key", "") else None
    return ClientRegistration(client_id, method, key=key, next_key=next_key, audience=audience)


def _key(options: Options, name: str, rsa_algorithm: str) -> ClientKey:
    pem = options.text(name).encode()
    must = f"must be a private key in PEM without a password: P-256, or RSA with {SHORTEST_RSA} bits or more"
    try:
        private = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):  # TypeError: it has a password
        raise options.error(name, must) from None
    if isinstance(private, EllipticCurvePrivateKey) and isinstance(private.curve, SECP256R1):
        algorithm = "ES256"
    elif isinstance(private, RSAPrivateKey) and private.key_size >= SHORTEST_RSA:
        algorithm = rsa_algorithm
    else:
        raise options.error(name, must)
    key = JWK.from_pyca(private)
    return ClientKey(key, options.text(f"{name}_id", "") or key.thumbprint(), algorithm)
