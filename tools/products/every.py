"""Every product that runs, in the order of docs/products.md."""

import re
from collections.abc import Callable

from tests.ports import free_port
from tools.products.environments import programs
from tools.products.person import Page, Person
from tools.products.product import FOLDER, Place, Product

APPLICATIONS = FOLDER / "applications"


def _django(place: Place) -> list[str]:
    settings = "export DJANGO_SETTINGS_MODULE=settings; python -m django"
    return ["sh", "-ec", f"{settings} migrate -v 0; exec python -m django runserver --noreload {place.port}"]


def _flask(place: Place) -> list[str]:
    return ["python", "-m", "flask", "--app", "settings", "run", "--port", str(place.port)]


def _flask_appbuilder(place: Place) -> list[str]:
    return ["python", "-m", "flask", "--app", "flask_appbuilder_site", "run", "--port", str(place.port)]


def _uvicorn(place: Place) -> list[str]:
    return ["python", "-m", "uvicorn", "settings:app", "--port", str(place.port)]


def _jupyterhub(place: Place) -> list[str]:
    ports = f"export HUB_PORT={free_port()} PROXY_PORT={free_port()}"
    proxy = f"PROXY={programs('node') / 'configurable-http-proxy'}"
    return ["sh", "-ec", f"{ports} {proxy}; exec jupyterhub -f {APPLICATIONS / 'jupyterhub_config.py'}"]


def _pgadmin(_place: Place) -> list[str]:
    find = "import pathlib, pgadmin4; print(pathlib.Path(pgadmin4.__path__[0]) / 'pgAdmin4.py')"
    return ["sh", "-ec", f'exec python "$(python -c "{find}")"']


def _node(application: str) -> Callable[[Place], list[str]]:
    def command(place: Place) -> list[str]:
        copied = f"cp {APPLICATIONS}/express.mjs {APPLICATIONS}/{application}.mjs ."
        return ["sh", "-ec", f"{copied}; exec node {application}.mjs"]

    return command


def _button(action: str) -> Callable[[Person, Page], Page]:
    """Presses the button of the form whose action contains a text."""
    return lambda person, page: person.submits(page, action)


def _pgadmin_button(person: Person, page: Page) -> Page:
    """What the script of pgAdmin's page sends when the person presses the button."""
    token = re.search(r'"csrfToken": "([^"]+)"', page.text)
    if token is None:
        raise LookupError(f"no token in {page.text}"[:3000])
    address = page.url.replace("/login", "/authenticate/login")
    return person.posts(address, {"csrf_token": token[1], "oauth2_button": "wallet"})


def _synapse(_place: Place) -> list[str]:
    server = "python -m synapse.app.homeserver -c synapse.yaml -c settings.yaml"
    written = f"python {APPLICATIONS / 'synapse_site.py'}; {server} --generate-keys"
    return ["sh", "-ec", f"{written}; exec {server}"]


def _apache(place: Place) -> list[str]:
    (place.folder / "page").write_text("<!doctype html><pre><!--#printenv --></pre>")
    return ["sh", "-ec", f"export FOLDER=$PWD; exec apache2 -f {APPLICATIONS / 'apache.conf'} -DFOREGROUND"]


RS256 = ("--id-token-signed-response-alg", "RS256")
NONCE = ("--pkce-or-nonce",)
_NAMES = "urn:service:params:scope:verifiable-credentials:"
SCOPES = [f"{_NAMES}basic", f"{_NAMES}contact"]  # what `profile` and `email` need
PRODUCTS = [
    Product(
        name="django-allauth",
        package="django-allauth",
        environment="django",
        settings="django_allauth.py",
        command=_django,
        callback="/accounts/oidc/wallet/login/callback/",
        login="/accounts/oidc/wallet/login/",
        presses=_button(""),
        yes='"first_name": "Alice"',
        no="Login Cancelled",
        after_a_no="its page “Login Cancelled”",
        sub=(
            "the account belongs to `sub` (`uid`): without `--may-recognise` the second sign-in "
            "ends at “Sign Up”"
        ),
        name_claim="`first_name` and `last_name` from `given_name` and `family_name`",
        registration=("--may-recognise",),
        introduction='In `settings.py`; `urls.py` has `path("accounts/", include("allauth.urls"))`.',
    ),
    Product(
        name="mozilla-django-oidc",
        package="mozilla-django-oidc",
        environment="django",
        settings="mozilla_django_oidc.py",
        command=_django,
        callback="/oidc/callback/",
        login="/oidc/authenticate/",
        yes='"email": "adult@holder.example"',
        no='"id": null',
        after_a_no="`LOGIN_REDIRECT_URL_FAILURE`, without a reason",
        sub="not used: the account belongs to `email`",
        name_claim="not used; override `create_user` to keep it",
        without_marked=NONCE,
        introduction=(
            'In `settings.py`; `urls.py` has `path("oidc/", include("mozilla_django_oidc.urls"))`.'
        ),
    ),
    Product(
        name="social-auth-app-django",
        package="social-auth-app-django",
        environment="django",
        settings="social_auth.py",
        command=_django,
        callback="/complete/oidc/",
        login="/",
        presses=_button("/login/oidc/"),
        yes='"first_name": "Alice"',
        no="Authentication process canceled",
        after_a_no="`SOCIAL_AUTH_LOGIN_ERROR_URL`, with the message “Authentication process canceled”",
        sub="the account belongs to `sub` (`uid`): without `--may-recognise` each sign-in makes another one",
        name_claim="`first_name` and `last_name` from `given_name` and `family_name`",
        registration=("--may-recognise",),
        without_marked=(*NONCE, *RS256),
        introduction=(
            'In `settings.py`; `urls.py` has `path("", include("social_django.urls", '
            'namespace="social"))`, and a page has a\nform that posts to `/login/oidc/`.'
        ),
    ),
    Product(
        name="JupyterHub with oauthenticator",
        package="oauthenticator",
        environment="jupyterhub",
        settings="jupyterhub.py",
        command=_jupyterhub,
        callback="/hub/oauth_callback",
        login="/hub/oauth_login",
        yes="adult@holder.example",
        no="400 : OAuth error: The request was not granted.",
        after_a_no="its error page “400: OAuth error: The request was not granted.”",
        sub="not used: `username_claim` is `email`",
        name_claim="not used",
        introduction="In `jupyterhub_config.py`.",
    ),
    Product(
        name="pgAdmin 4",
        package="pgadmin4",
        environment="pgadmin",
        settings="pgadmin.py",
        command=_pgadmin,
        callback="/oauth2/authorize",
        login="/login",
        presses=_pgadmin_button,
        shown="/user_management/current_user.js",
        yes="adult@holder.example",
        no="access_denied: The request was not granted.",
        after_a_no="JSON with status 500 and `access_denied: The request was not granted.`",
        sub="not used: `OAUTH2_USERNAME_CLAIM` is `email`",
        name_claim="not used",
        without_marked=NONCE,
        variables=(("PGADMIN_SETUP_EMAIL", "op@shop.example"), ("PGADMIN_SETUP_PASSWORD", "p" * 12)),
        introduction=(
            "In `config_local.py`. Without `OAUTH2_CHALLENGE_METHOD` pgAdmin needs no "
            "`OAUTH2_RESPONSE_TYPE` either."
        ),
    ),
    Product(
        name="Apache with mod_auth_openidc",
        package="libapache2-mod-auth-openidc",
        environment="debian",
        settings="mod_auth_openidc.conf",
        command=_apache,
        callback="/oidc/cb",
        login="/secret",
        yes="OIDC_CLAIM_name=Alice Example",
        no="access_denied",
        after_a_no="its own page, which names `access_denied`",
        sub="`OIDC_CLAIM_sub`, and `REMOTE_USER` is made of it",
        name_claim="`OIDC_CLAIM_name`",
        without_marked=NONCE,
        introduction=(
            "Put all of it into the site’s `<VirtualHost>`: rules outside are not inherited. It "
            "needs `mod_rewrite`. Claims arrive as\n`OIDC_CLAIM_given_name` and so on."
        ),
    ),
    Product(
        name="Synapse (Matrix)",
        package="matrix-synapse",
        environment="synapse",
        settings="synapse.yaml",
        command=_synapse,
        callback="/_synapse/client/oidc/callback",
        login=(
            "/_matrix/client/v3/login/sso/redirect/oidc-wallet?redirectUrl=http%3A%2F%2F127.0.0.1%2Fclient"
        ),
        yes="@alice:localhost",
        no="Authentication failed There was an error The request was not granted.",
        after_a_no="its page “There was an error” with “The request was not granted.”",
        sub="the account belongs to `sub`: without `--may-recognise` each sign-in makes another one",
        name_claim="`display_name_template` makes the display name of it",
        registration=("--may-recognise",),
        introduction="In `homeserver.yaml`.",
    ),
    Product(
        name="Flask-AppBuilder",
        package="flask-appbuilder",
        environment="flask_appbuilder",
        settings="flask_appbuilder.py",
        command=_flask_appbuilder,
        callback="/oauth-authorized/wallet",
        login="/login/wallet",
        shown="/me",
        yes='"first_name":"Alice"',
        no="The request to sign in was denied.",
        after_a_no="its sign-in page, with “The request to sign in was denied.”",
        sub="not used: the user name is `email`",
        name_claim="`first_name` and `last_name` from `given_name` and `family_name`",
        without_marked=NONCE,
        introduction=(
            "Superset and Airflow take the same: in `superset_config.py` or `webserver_config.py`, "
            "with\n`CUSTOM_SECURITY_MANAGER` or `SECURITY_MANAGER_CLASS` for the class."
        ),
    ),
    Product(
        name="Authlib for Flask",
        package="authlib",
        environment="small",
        settings="authlib.py",
        command=_flask,
        callback="/callback",
        login="/login",
        yes='"given_name":"Alice"',
        no='"error":"access_denied"',
        after_a_no="`authorize_access_token` raises `OAuthError`",
        sub="in `userinfo`, for the application",
        name_claim="in `userinfo`, for the application",
        without_marked=NONCE,
    ),
    Product(
        name="Flask-OIDC",
        package="flask-oidc",
        environment="small",
        settings="flask_oidc.py",
        command=_flask,
        callback="/authorize",
        login="/me",
        yes='"given_name":"Alice"',
        no="access_denied: The request was not granted.",
        after_a_no="status 401 with `access_denied: The request was not granted.`",
        sub="in `oidc_auth_profile`, for the application",
        name_claim="in `oidc_auth_profile`, for the application",
        without_marked=NONCE,
    ),
    Product(
        name="Flask-pyoidc",
        package="flask-pyoidc",
        environment="small",
        settings="flask_pyoidc.py",
        command=_flask,
        callback="/redirect_uri",
        login="/me",
        yes='"given_name":"Alice"',
        no='"error":"access_denied"',
        after_a_no="what `error_view` returns",
        sub="in `userinfo`, for the application",
        name_claim="in `userinfo`, for the application",
        registration=NONCE,
        without_marked=RS256,
        introduction="It cannot send PKCE.",
    ),
    Product(
        name="fastapi-sso",
        package="fastapi-sso",
        environment="small",
        settings="fastapi_sso.py",
        command=_uvicorn,
        callback="/callback",
        login="/login",
        variables=(("OAUTHLIB_INSECURE_TRANSPORT", "1"),),  # this shop has no TLS
        yes='"display_name":"Alice Example"',
        no="'code' parameter was not found in callback request",
        after_a_no="status 400 with “'code' parameter was not found in callback request”",
        sub="`id` of the `OpenID` that the settings make",
        name_claim="`display_name`",
    ),
    Product(
        name="idpyoidc",
        package="idpyoidc",
        environment="small",
        settings="idpyoidc.py",
        command=_flask,
        callback="/authz_cb/wallet",
        login="/login",
        yes='"given_name":"Alice"',
        no='"error":"access_denied"',
        after_a_no="`finalize` returns `error`",
        sub="in `userinfo`, for the application",
        name_claim="in `userinfo`, for the application",
        registration=RS256,
        introduction=(
            "SATOSA’s front is made of it. It refuses an issuer whose discovery does not list RS256."
        ),
    ),
    Product(
        name="Auth.js",
        package="@auth/express",
        environment="node",
        settings="authjs.mjs",
        command=_node("authjs"),
        callback="/auth/callback/wallet",
        login="/auth/signin",
        presses=_button("/auth/signin/wallet"),
        shown="/me",
        yes='"name":"Alice Example"',
        no="Try signing in with a different account.",
        after_a_no="its sign-in page, with “Try signing in with a different account.”",
        sub=(
            "`providerAccountId`, by which a database adapter finds the account: give "
            "`--may-recognise` with an adapter"
        ),
        name_claim="`name` of the session",
    ),
    Product(
        name="NextAuth",
        package="next-auth",
        environment="node",
        settings="next_auth.mjs",
        command=_node("next_auth"),
        callback="/api/auth/callback/wallet",
        login="/api/auth/signin",
        presses=_button("/api/auth/signin/wallet"),
        shown="/api/auth/session",
        yes='"name":"Alice Example"',
        no="Try signing in with a different account.",
        after_a_no="its sign-in page, with “Try signing in with a different account.”",
        sub=(
            "`providerAccountId`, by which a database adapter finds the account: give "
            "`--may-recognise` with an adapter"
        ),
        name_claim="`name` of the session",
        without_marked=RS256,
    ),
    Product(
        name="express-openid-connect",
        package="express-openid-connect",
        environment="node",
        settings="express_openid_connect.mjs",
        command=_node("express_openid_connect"),
        callback="/callback",
        login="/me",
        yes='"name":"Alice Example"',
        no='"error":"access_denied"',
        after_a_no="Express’s error handler, with `error` `access_denied` and status 400",
        sub="`sub` of `oidc.user`",
        name_claim="`name` of `oidc.user`",
        without_marked=RS256,
    ),
    Product(
        name="better-auth",
        package="better-auth",
        environment="node",
        settings="better_auth.mjs",
        command=_node("better_auth"),
        callback="/api/auth/callback/wallet",
        login="/login",
        yes='"name":"Alice Example"',
        no='"error":"access_denied"',
        after_a_no="`errorCallbackURL` with `error=access_denied`",
        sub="`accountId`; another `sub` with the same proven e-mail address is linked to the account",
        name_claim="`name` of the user",
    ),
    Product(
        name="passport-openidconnect",
        package="passport-openidconnect",
        environment="node",
        settings="passport_openidconnect.mjs",
        command=_node("passport_openidconnect"),
        callback="/callback",
        login="/login",
        yes="Alice",
        no="Unauthorized",
        after_a_no="status 401 “Unauthorized”, or `failureRedirect`",
        sub="`id` of the profile",
        name_claim="`displayName` of the profile",
        registration=NONCE,
        introduction="The strategy of NestJS. It cannot send PKCE; `nonce: true` makes it send a nonce.",
    ),
    Product(
        name="hapi with @hapi/bell",
        package="@hapi/bell",
        environment="node",
        settings="bell.mjs",
        command=_node("bell"),
        callback="/login",
        login="/login",
        yes='"given_name":"Alice"',
        no="An internal server error occurred",
        after_a_no='status 500; with `mode: "try"` the handler decides',
        sub="in the profile, for the application",
        name_claim="in the profile, for the application",
    ),
    Product(
        name="grant",
        package="grant",
        environment="node",
        settings="grant.mjs",
        command=_node("grant"),
        callback="/connect/wallet/callback",
        login="/connect/wallet",
        yes='"given_name":"Alice"',
        no='"error":"access_denied"',
        after_a_no="`callback` with `error` `access_denied` in the session",
        sub="in the profile, for the application",
        name_claim="in the profile, for the application",
        without_marked=NONCE,
    ),
    Product(
        name="@fastify/oauth2",
        package="@fastify/oauth2",
        environment="node",
        settings="fastify_oauth2.mjs",
        command=_node("fastify_oauth2"),
        callback="/callback",
        login="/login",
        yes='"given_name":"Alice"',
        no="Response Error: 400 Bad Request",
        after_a_no=(
            "status 500, because it exchanges a code that is not there; look at `error` of the query first"
        ),
        sub="in UserInfo, for the application",
        name_claim="in UserInfo, for the application",
    ),
]
# At least one of every kind, in both languages; CI runs them, as printed.
SHORT = ["django_allauth", "jupyterhub", "pgadmin", "mod_auth_openidc", "authjs", "idpyoidc"]
