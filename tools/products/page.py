"""docs/products.md, made of the same settings that run."""

import json
import re
from collections.abc import Sequence

from tools.products.product import FOLDER, MARKED, Product

PAGE = FOLDER.parents[1] / "docs" / "products.md"
LANGUAGES = {"py": "python", "mjs": "js", "conf": "apache", "yaml": "yaml", "toml": "toml"}
BEGINNING = """# OpenID Connect products

Settings of published products for this service. Each of them was run: `make products` installs the product,
starts it with the settings below and a sandbox beside it, lets a person sign in twice and decline once, and
compares what they see with this page. The page is made of the files that run (`python -m tools.products
--write`).

Register every product for OpenID Connect, make a client secret, and replace `{{base_url}}`,
`https://shop.example` and what stands in `<…>`:

```console
$ manage.py register_relying_party --name "Your shop" --wire-format openid \\
    --redirect-uri https://shop.example<the callback of the table> \\
{scopes}
$ manage.py rotate_client_secret <client ID>
```

**Words of the registration.** The table names further words of that command, which are ticks in the admin
and in the sandbox:

* `--may-recognise`, or `--sub same`: the same person gets the same `sub` each time. The others were run with
  `--sub another`: `sub` is another one each time, and a product that finds its accounts by `sub` makes a new
  account, or refuses a second one with the same e-mail address.
* `--pkce-or-nonce`: for products that cannot send PKCE. [What it gives up](openid-connect.md).
* `--id-token-signed-response-alg RS256`: for products that know nothing but RS256. The operator makes [an
  RSA key](keys.md) once.

Prefer PKCE. Where the settings have a line below “for PKCE” or “for ES256”, the product also runs without
it if it is registered with the words of the last column.

| product | version | callback | further words | without the marked lines |
|---|---|---|---|---|
{table}

What a person sees after a no, and what becomes of `sub` and `name`:

| product | after a no | `sub` | `name` |
|---|---|---|---|
{behaviour}

"""
END = """## Read, not run

No registry that the tests use has these. From their documents and source:

* **Spring Security**: `OAuth2AuthorizationRequestCustomizers.withPkce()`, and a bean
  `OidcIdTokenDecoderFactory` with `setJwsAlgorithmResolver(client -> SignatureAlgorithm.ES256)`.
* **Keycloak** as broker (identity provider "OpenID Connect v1.0"): "Use PKCE" with S256, and "Validate
  signatures" with "Use JWKS URL".
* **oauth2-proxy**: `code_challenge_method = "S256"`.
* **ASP.NET Core**: sends PKCE by itself, and asks for the answer by `response_mode=form_post`.

## Products that cannot connect

* **@okta/oidc-middleware** sends neither PKCE nor a nonce of its own, so the service could not refuse a
  stolen code.
* **oidc-client-ts** and other public clients have no secret. `unauthorized_client` says so before anybody
  signs in.
* **keycloak-connect** wants the addresses of Keycloak.

A product that ends the session at the issuer too (`idpLogout: true` of express-openid-connect) finds no
`end_session_endpoint`: nobody is signed in here for longer than a request, so switch it off.
"""


def page(products: Sequence[Product], scopes: Sequence[str]) -> str:
    """The whole page, for products in this order. scopes: what each of them is registered for."""
    words = " \\\n".join(f"    --scope {scope}" for scope in scopes)
    table, behaviour = "\n".join(map(_row, products)), "\n".join(map(_behaviour, products))
    beginning = BEGINNING.format(scopes=words, table=table, behaviour=behaviour)
    return beginning + "".join(map(_section, products)) + END


def version(product: Product) -> str:
    """The version that the lock names; that of Debian's packages is Debian's."""
    if product.environment == "debian":
        return "Debian 12"
    if product.environment == "node":
        lock = json.loads((FOLDER / "node" / "package-lock.json").read_text())
        return str(lock["packages"][f"node_modules/{product.package}"]["version"])
    lock = (FOLDER / "environments" / f"{product.environment}.txt").read_text()
    (found,) = re.findall(rf"^{re.escape(product.package)}==(\S+)", lock, re.MULTILINE)
    return str(found)


def _row(product: Product) -> str:
    without = product.without_marked
    lacks = "no" if MARKED.search(product.text) else "has none"
    marked = lacks if without is None else _words((*product.registration, *without))
    more = _words(product.registration)
    return f"| {_link(product)} | {version(product)} | `{product.callback}` | {more} | {marked} |"


def _behaviour(product: Product) -> str:
    return f"| {product.name} | {product.after_a_no} | {product.sub} | {product.name_claim} |"


def _words(words: Sequence[str]) -> str:
    return f"`{' '.join(words)}`" if words else "–"


def _link(product: Product) -> str:
    anchor = re.sub(r"[^a-z0-9 _-]", "", product.name.lower()).replace(" ", "-")
    return f"[{product.name}](#{anchor})"


def _section(product: Product) -> str:
    language = LANGUAGES[product.settings.rpartition(".")[2]]
    before = f"{product.introduction}\n\n" if product.introduction else ""
    return f"## {product.name}\n\n{before}```{language}\n{product.text}```\n\n"
