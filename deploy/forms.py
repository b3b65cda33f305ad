"""The files of each form that `deploy/setup` writes, and the commands that come next.

They are filled templates: `{{NAME}}` stands for a value, which is quoted for its reader. No finished text is
searched, because a value may contain what would be searched for.
"""

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from infra import secret_texts

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {"systemd": "/etc/presentation", "compose": "deploy/compose", "kubernetes": "deploy/kubernetes"}
FILES = {
    "systemd": ("environment", "nginx.conf", "database.sql"),
    "compose": ("environment", "nginx.conf", "database-password", "sealing-keys"),
    "kubernetes": ("presentation.yaml", "database.sql"),
}
# Those that may be in a file instead (docs/settings.md, "Secrets in files").
SECRETS = (
    *("SECRET_KEY", "SECRET_KEY_FALLBACKS", "KEY_SEALING_KEYS", "DATABASE_URL", "EMAIL_URL"),
    *("PKCS11_PIN", "METRICS_TOKEN"),
)
INSTANCES = {"systemd": ("127.0.0.1:8001", "127.0.0.1:8002"), "compose": ("first:8000", "second:8000")}
PRIVATE_NETWORKS = """\
        # These are all private networks: put your own in their place.
        allow 127.0.0.0/8;
        allow ::1;
        allow 10.0.0.0/8;
        allow 172.16.0.0/12;
        allow 192.168.0.0/16;
        allow fd00::/8;"""
# Some engines show nginx the same address for everybody.
NOBODY = """\
        # Nobody yet: put the networks of your operators here, each as `allow 203.0.113.0/24;`, and never an
        # address that everybody has (docs/operate.md, "The client's address")."""
SQL = """\
CREATE ROLE presentation LOGIN PASSWORD '{{PASSWORD}}';
GRANT pg_monitor TO presentation;
CREATE DATABASE presentation OWNER presentation ENCODING 'UTF8' TEMPLATE template0;
"""
NEXT = {
    "systemd": """\
runuser -u postgres -- psql --quiet < {{FOLDER}}/database.sql
set -a; . {{FOLDER}}/environment; set +a
.venv/bin/python manage.py collectstatic --no-input""",
    "compose": """\
install -D --mode 0600 --target-directory {{FOLDER}}/certificates fullchain.pem privkey.pem
echo HTTPS_PORT={{PORT}} >> .env
docker-compose up --detach --build
docker-compose exec first .venv/bin/python manage.py createsuperuser""",
    "kubernetes": """\
psql --quiet --host DATABASE --username postgres < {{FOLDER}}/database.sql
kubectl apply --namespace presentation --filename {{FOLDER}}/presentation.yaml""",
}


def files(form: str, values: Mapping[str, str], password: str) -> dict[str, str]:
    """The text of each file, by its name. password: of the database, if DATABASE_URL contains it."""
    texts = {"systemd": _systemd, "compose": _compose, "kubernetes": _kubernetes}[form](values, password)
    return {name: text for name, text in texts.items() if text}


def next_commands(form: str, folder: str, *, port: int, with_database: bool) -> str:
    """The commands that come next. with_database: whether there is a database.sql."""
    lines = NEXT[form].splitlines()
    if not with_database:
        lines = [line for line in lines if "database.sql" not in line]
    if port == 443:
        lines = [line for line in lines if "{{PORT}}" not in line]
    return filled("\n".join(lines), {"FOLDER": shlex.quote(folder), "PORT": str(port)})


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with the value of each `{{NAME}}` in its place. No value is searched for names."""
    return re.sub(r"\{\{([A-Z_]+)\}\}", lambda found: values[found[1]], template)


def port_of(base_url: str) -> int:
    """The port at which browsers reach this address."""
    return urlsplit(base_url).port or 443


def nginx(form: str, base_url: str) -> str:
    """The configuration of nginx for the service at this address, which `config.origins` accepts.

    Such an address has no character with a meaning in nginx. In a container nginx listens on 443, and
    compose.yaml publishes that as the port of the address.
    """
    origin = urlsplit(base_url)
    first, second = INSTANCES[form]
    values = {
        "BASE_URL": base_url,
        "HOST": f"[{origin.hostname}]" if ":" in str(origin.hostname) else str(origin.hostname),
        "PORT": str(port_of(base_url) if form == "systemd" else 443),
        "FIRST_INSTANCE": first,
        "SECOND_INSTANCE": second,
        "OPERATORS": PRIVATE_NETWORKS if form == "systemd" else NOBODY,
    }
    return filled((ROOT / "deploy" / "nginx.conf.template").read_text(encoding="utf-8"), values)


def _systemd(values: Mapping[str, str], password: str) -> dict[str, str]:
    """EnvironmentFile= of systemd and a shell both take quotes as `shlex` writes them."""
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in values.items()]
    conf = nginx("systemd", values["BASE_URL"])
    return {"environment": "".join(lines), "nginx.conf": conf, "database.sql": _sql(values, password)}


def _compose(values: Mapping[str, str], password: str) -> dict[str, str]:
    """env_file has no quotes, because the versions of Compose read them differently."""
    lines = [f"{name}={value}\n" for name, value in values.items() if name != "KEY_SEALING_KEYS"]
    return {
        "environment": "".join(lines),
        "nginx.conf": nginx("compose", values["BASE_URL"]),
        "database-password": password,
        "sealing-keys": _in_a_file("KEY_SEALING_KEYS", values["KEY_SEALING_KEYS"]),
    }


def _kubernetes(values: Mapping[str, str], password: str) -> dict[str, str]:
    """A Secret and a ConfigMap in YAML, with the values in JSON, which YAML contains."""
    names = {name: name.lower().replace("_", "-") for name in SECRETS if name in values}
    paths = {f"{name}_FILE": f"/run/secrets/presentation/{file}" for name, file in names.items()}
    others = {name: value for name, value in values.items() if name not in names}
    secret = {file: _in_a_file(name, values[name]) for name, file in names.items()}
    manifest = _as_yaml("Secret", "stringData", secret) + _as_yaml("ConfigMap", "data", others | paths)
    return {"presentation.yaml": manifest, "database.sql": _sql(values, password)}


def _in_a_file(name: str, value: str) -> str:
    """A secret as a file holds it: a list with one on each line (docs/settings.md, "Secrets in files")."""
    return "\n".join(secret_texts.split(name, value))


def _as_yaml(kind: str, member: str, values: Mapping[str, str]) -> str:
    lines = [f"  {name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items()]
    return f"---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: presentation}}\n{member}:\n{''.join(lines)}"


def _sql(values: Mapping[str, str], password: str) -> str:
    """What a superuser of PostgreSQL runs; empty if another database was named.

    The password has no character with a meaning in SQL.
    """
    return filled(SQL, {"PASSWORD": password}) if password in values["DATABASE_URL"] else ""
