"""A client of the service, whose requests may be mutated on the way."""

from http.cookies import SimpleCookie
from typing import Any

from tools.fuzz.gateway import BASE_URL, HOST, Reply, Wire
from tools.fuzz.runner import Runner

FORM = "application/x-www-form-urlencoded"
MOST_FOLLOWED = 8  # redirects


class Browser:
    """A client with its own cookies and network address. Its mutator changes what it sends."""

    def __init__(self, runner: Runner, scenario: str, mutator: Any) -> None:
        self.runner, self.scenario, self.mutator = runner, scenario, mutator
        rng = mutator.rng
        self.cookies: dict[str, str] = {}
        self.address = f"2001:db8:{rng.randrange(65536):x}:{rng.randrange(65536):x}::1"

    def send(
        self, method: str, target: str, body: str | bytes = b"", content_type: str = FORM, **headers: str
    ) -> Reply:
        """Sends a request, mutated or not, and stores the cookies of the reply."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        said = [("Host", HOST), ("X-Forwarded-For", self.address)]
        said += [("Cookie", cookies)] if cookies else []
        octets = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
        if method == "POST":
            said += [("Content-Type", content_type), ("Sec-Fetch-Site", "same-origin")]
        said += [(name.replace("_", "-"), as_header(value)) for name, value in headers.items()]
        wire = self.mutator.wire(Wire(method, target, tuple(said), octets))
        reply = self.runner.send(wire, self.scenario)
        for name, value in reply.headers:
            if name.lower() == "set-cookie":
                self._keep(value)
        return reply.at_its_own_address()

    def _keep(self, header: str) -> None:
        for name, morsel in SimpleCookie(header).items():
            if morsel["max-age"] == "0" or not morsel.value:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = morsel.value

    def get(self, path: str, pairs: list[tuple[str, str]] | None = None, **headers: str) -> Reply:
        """With a query of these pairs."""
        query = "?" + self.mutator.form(pairs) if pairs else ""
        return self.send("GET", path + query, **headers)

    def post(self, path: str, pairs: list[tuple[str, str]], **headers: str) -> Reply:
        """Posts a form of one of our pages; in the admin with its CSRF token, which may be mutated."""
        if path.startswith("/admin/"):
            pairs = [*pairs, ("csrfmiddlewaretoken", self.cookies.setdefault("csrf", "a" * 32))]
        return self.send("POST", path, self.mutator.form(pairs), **headers)

    def follow(self, reply: Reply) -> Reply:
        """Redirects within the service, until one leads to a page, or carries an answer."""
        for _ in range(MOST_FOLLOWED):
            place = reply.location.removeprefix(BASE_URL)
            if not place.startswith("/") or "vp_token=" in place or "error=" in place:
                break
            reply = self.send("GET", place.partition("#")[0])
        return reply


def as_header(text: str) -> str:
    """UTF-8 decoded as Latin-1, as gunicorn decodes headers."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")
