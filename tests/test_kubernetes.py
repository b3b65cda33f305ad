"""deploy/kubernetes-base: built, validated strictly, and tried as far as that needs no cluster.

Each of its traps has a test: most of them show only when a node, the database or a release goes.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection
from ipaddress import ip_network
from pathlib import Path
from threading import Thread
from typing import Any

import kubernetes_validate
import pytest
import yaml

from presentation.jobs import JOBS
from tests.build_context import is_copied
from tests.environment_files import as_kubernetes_reads
from tests.nginx_in_front import HOST, Exchange, Server, Visitor, running
from tests.own_databases import own_database
from tests.ports import free_port
from tests.programs import kubectl
from tests.project_copy import ROOT
from tests.setup_program import Setup
from tools.version import current

pytestmark = pytest.mark.kubectl
BASE = ROOT / "deploy" / "kubernetes-base"
DOCUMENT = (ROOT / "docs" / "kubernetes.md").read_text()
MOUNTED = "/run/secrets/presentation"
OURS = ("web", "worker", "audit", "migrate")
VERSION = current()
CONNECTIONS = 100 - 3  # PostgreSQL's default, without those that are kept for superusers
Manifest = dict[str, Any]


def build(folder: Path) -> list[Manifest]:
    """What Kustomize makes of a folder."""
    done = subprocess.run([str(kubectl()), "kustomize", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture(scope="module")
def built() -> list[Manifest]:
    return build(BASE)


def of_kind(manifests: list[Manifest], kind: str) -> dict[str, Manifest]:
    return {each["metadata"]["name"]: each for each in manifests if each["kind"] == kind}


def pod_templates(manifests: list[Manifest]) -> dict[str, Manifest]:
    """The template of each workload, by the part that its pods are."""
    found = {}
    for each in manifests:
        spec = each.get("spec", {})
        if template := spec.get("jobTemplate", {}).get("spec", spec).get("template"):
            found[template["metadata"]["labels"]["part"]] = template
    return found


@pytest.fixture(scope="module")
def pods(built: list[Manifest]) -> dict[str, Manifest]:
    """The specification of each part's pods."""
    found = {part: template["spec"] for part, template in pod_templates(built).items()}
    assert set(found) == {*OURS, "front"}
    return found


def containers(pod: Manifest) -> list[Manifest]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def volumes(pod: Manifest) -> dict[str, Manifest]:
    return {each["name"]: each for each in pod["volumes"]}


def faults(manifests: list[Manifest]) -> list[str]:
    """What the schemas of Kubernetes do not know or not allow."""
    found = []
    for each in manifests:
        try:
            kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)
        except kubernetes_validate.ValidationError as error:
            found.append(f"{each['kind']}: {error.message}")
    return found


def test_kubernetes_knows_every_member(built: list[Manifest]) -> None:
    assert len(built) == 20
    assert faults(built) == []


def test_everything_is_in_the_namespace_which_refuses_pods_with_more_rights(built: list[Manifest]) -> None:
    (namespace,) = of_kind(built, "Namespace").values()

    assert {each["metadata"].get("namespace", "presentation") for each in built} == {"presentation"}
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_every_container_is_confined(pods: dict[str, Manifest]) -> None:
    for pod in pods.values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False  # variables such as WEB_PORT
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


def test_our_user_is_that_of_the_image(pods: dict[str, Manifest]) -> None:
    (user,) = re.findall("^USER (.*)$", (ROOT / "Containerfile").read_text(), re.M)

    for part in OURS:
        context = pods[part]["securityContext"]
        assert f"{context['runAsUser']}:{context['runAsGroup']}" == user


def test_what_is_kept_in_memory_fits_into_the_limit_of_its_container(pods: dict[str, Manifest]) -> None:
    """Kubernetes counts such a volume as memory of the container that fills it."""
    for pod in pods.values():
        for container in containers(pod):
            mounted = [volumes(pod)[each["name"]].get("emptyDir", {}) for each in container["volumeMounts"]]
            in_memory = sum(mebibytes(each["sizeLimit"]) for each in mounted if each.get("medium"))
            assert in_memory < mebibytes(container["resources"]["limits"]["memory"])


def mebibytes(text: str) -> int:
    return int(text[:-2]) * {"Mi": 1, "Gi": 1024}[text[-2:]]


# The state of the instances


def test_an_instance_has_to_be_ready_once_and_alive_from_then_on(pods: dict[str, Manifest]) -> None:
    """Otherwise a database that is away takes the published documents away, which are served from memory."""
    (web,) = pods["web"]["containers"]

    probes = {name: web[name]["httpGet"]["path"] for name in web if name.endswith("Probe")}
    assert probes == {
        "startupProbe": "/health/ready",
        "readinessProbe": "/health/live",
        "livenessProbe": "/health/live",
    }
    assert web["startupProbe"]["failureThreshold"] * web["startupProbe"]["periodSeconds"] == 300
    assert web["startupProbe"]["timeoutSeconds"] > 5  # the checks take up to five seconds


@pytest.mark.parametrize(("part", "longest"), [("web", 30), ("front", 60)])
def test_a_pod_goes_on_until_the_service_has_forgotten_it(
    pods: dict[str, Manifest], part: str, longest: int
) -> None:
    (container,) = pods[part]["containers"]

    program, pause = container["lifecycle"]["preStop"]["exec"]["command"]
    assert (program, int(pause)) == ("sleep", 10)
    assert pods[part]["terminationGracePeriodSeconds"] > int(pause) + longest


def test_gunicorn_waits_no_longer_than_is_assumed_here() -> None:
    assert "graceful_timeout = 30\n" in (ROOT / "deploy" / "gunicorn.conf.py").read_text()


def test_a_worker_may_end_what_is_under_way(pods: dict[str, Manifest]) -> None:
    assert "TimeoutStopSec=120\n" in (ROOT / "deploy/systemd/presentation-worker.service").read_text()
    assert pods["worker"]["terminationGracePeriodSeconds"] == 120


def test_a_node_can_be_drained_and_every_part_goes_on(built: list[Manifest]) -> None:
    deployments = of_kind(built, "Deployment")
    (scaler,) = of_kind(built, "HorizontalPodAutoscaler").values()
    least = {name: each["spec"].get("replicas", 0) for name, each in deployments.items()}
    least[scaler["spec"]["scaleTargetRef"]["name"]] = scaler["spec"]["minReplicas"]

    assert least == {"web": 3, "front": 2, "worker": 2}
    for name, deployment in deployments.items():
        budget = of_kind(built, "PodDisruptionBudget")[name]["spec"]
        assert budget["maxUnavailable"] == 1
        assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        assert budget["selector"] == deployment["spec"]["selector"]
        assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
        spread = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert {each["whenUnsatisfiable"] for each in spread} == {"ScheduleAnyway"}


def test_as_many_pods_as_the_database_has_connections(built: list[Manifest]) -> None:
    text = (ROOT / "deploy" / "gunicorn.conf.py").read_text()
    processes, threads = (int(number) for number in re.findall(r'number\("WEB_\w+", (\d+)', text))
    (scaler,) = of_kind(built, "HorizontalPodAutoscaler").values()
    web, worker = (of_kind(built, "Deployment")[name]["spec"] for name in ("web", "worker"))
    of_a_worker = sum(job.threads for job in JOBS.values() if job.name != "sign_audit_record")
    instances = scaler["spec"]["maxReplicas"] + web["strategy"]["rollingUpdate"]["maxSurge"]

    assert "replicas" not in web  # each `apply` would undo what the autoscaler chose
    # web.yaml tells the sum; five are left for the jobs and for people.
    assert instances * processes * threads + worker["replicas"] * of_a_worker == 84 < CONNECTIONS - 5


# Settings and secrets


@pytest.fixture
def made(setup: Setup, tmp_path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The files of the Secret and the variables of the ConfigMap that deploy/setup makes."""
    done = setup("kubernetes", METRICS_TOKEN="metrics" * 6)
    assert done.returncode == 0, done.stderr
    return as_kubernetes_reads(tmp_path / "made" / "presentation.yaml")


def test_the_names_are_those_that_setup_makes(
    pods: dict[str, Manifest], made: tuple[dict[str, str], dict[str, str]], tmp_path: Path
) -> None:
    files, variables = made
    manifests = list(yaml.safe_load_all((tmp_path / "made" / "presentation.yaml").read_text()))

    assert {(each["kind"], each["metadata"]["name"]) for each in manifests} == {
        ("Secret", "presentation"),
        ("ConfigMap", "presentation"),
    }
    assert faults(manifests) == []
    assert {variables[f"{name}_FILE"] for name in ("SECRET_KEY", "DATABASE_URL", "METRICS_TOKEN")} == {
        f"{MOUNTED}/{file}" for file in ("secret-key", "database-url", "metrics-token")
    }
    assert {path for name, path in variables.items() if name.endswith("_FILE")} == {
        f"{MOUNTED}/{file}" for file in files
    }
    for part in OURS:
        assert volumes(pods[part])["secrets"]["secret"]["secretName"] == "presentation"
        for container in containers(pods[part]):
            assert container["envFrom"] == [{"configMapRef": {"name": "presentation"}}]
            assert {"name": "secrets", "mountPath": MOUNTED, "readOnly": True} in container["volumeMounts"]


def test_secrets_are_for_their_group_only(pods: dict[str, Manifest]) -> None:
    secrets = [
        (pod, volume["secret"]) for pod in pods.values() for volume in pod["volumes"] if "secret" in volume
    ]

    assert len(secrets) >= 6
    assert {secret["defaultMode"] for _, secret in secrets} == {0o440}
    assert all(
        pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"] for pod, _ in secrets
    )


@pytest.mark.parametrize("mode", [0o440, 0o644])
def test_the_check_of_the_migration_accepts_the_secret_as_it_is_mounted(
    pods: dict[str, Manifest], made: tuple[dict[str, str], dict[str, str]], mode: int, tmp_path: Path
) -> None:
    """And refuses it with the mode that Kubernetes gives it by default."""
    files, variables = made
    (tmp_path / "mounted").mkdir()
    for name, text in files.items():
        (tmp_path / "mounted" / name).write_text(text)
        (tmp_path / "mounted" / name).chmod(mode)
    environment = {name: text.replace(MOUNTED, f"{tmp_path}/mounted") for name, text in variables.items()}
    (container,) = pods["migrate"]["containers"]
    check, command = container["command"][-1].split(" && exec ")

    done = in_image(check, environment)

    assert done.returncode == (1 if mode == 0o644 else 0), done.stderr
    assert ("keys.W001" in done.stderr) == (mode == 0o644)
    assert command == ".venv/bin/python manage.py migrate --no-input"


def in_image(script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a script of a container; the folder is that of the release, as in the image."""
    command = ["sh", "-ec", script]
    return subprocess.run(
        command, cwd=ROOT, env={"PATH": "/usr/bin:/bin"} | environment, capture_output=True, text=True
    )


def test_a_change_of_our_files_restarts_the_pods_that_read_them(
    built: list[Manifest], pods: dict[str, Manifest]
) -> None:
    (name,) = of_kind(built, "ConfigMap")

    assert re.fullmatch("front-[a-z0-9]{10}", name)
    assert volumes(pods["front"])["front"]["configMap"]["name"] == name
    assert "kubectl rollout restart deployment" in DOCUMENT  # for what has no hash


# Releases and jobs


def test_every_name_is_that_of_the_release(built: list[Manifest], pods: dict[str, Manifest]) -> None:
    """A Job cannot be changed, so the next release needs another."""
    images = {container["image"] for pod in pods.values() for container in containers(pod)}

    assert set(of_kind(built, "Job")) == {f"migrate-{VERSION.replace('.', '-')}"}
    assert images == {f"presentation:{VERSION}", "docker.io/nginxinc/nginx-unprivileged:1.30.5"}
    assert f"newTag: {VERSION}" in DOCUMENT


def test_the_worker_and_the_audit_job_do_everything_that_is_due(pods: dict[str, Manifest]) -> None:
    (worker,), (audit,) = pods["worker"]["containers"], pods["audit"]["containers"]

    assert worker["command"][:4] == [".venv/bin/python", "manage.py", "worker", "--jobs"]
    assert audit["command"] == [".venv/bin/python", "manage.py", "sign_audit_record"]
    assert [*worker["command"][4:], audit["command"][-1]] == sorted(JOBS, key="sign_audit_record".__eq__)


def test_only_the_hourly_audit_job_reaches_the_signed_record(
    built: list[Manifest], pods: dict[str, Manifest]
) -> None:
    (claim,), (job,) = of_kind(built, "PersistentVolumeClaim"), of_kind(built, "CronJob").values()

    having = [
        part for part, pod in pods.items() for each in pod["volumes"] if "persistentVolumeClaim" in each
    ]
    key = [part for part, pod in pods.items() if "presentation-audit" in json.dumps(pod["volumes"])]
    assert having == key == ["audit"]
    assert volumes(pods["audit"])["record"]["persistentVolumeClaim"]["claimName"] == claim
    assert re.fullmatch(r"\d+ \* \* \* \*", job["spec"]["schedule"])
    assert job["spec"]["concurrencyPolicy"] == "Forbid"  # the volume is for one pod
    mounts = {each["name"]: each["mountPath"] for each in pods["audit"]["containers"][0]["volumeMounts"]}
    assert f"AUDIT_FOLDER={mounts['record']}`" in DOCUMENT
    assert f"AUDIT_KEY_FILE={mounts['key']}/" in DOCUMENT


@pytest.mark.postgresql
def test_a_worker_starts_when_the_database_is_migrated(pods: dict[str, Manifest]) -> None:
    (container,) = pods["worker"]["initContainers"]
    script = container["command"][-1]
    (check,) = re.findall("until (.*); do sleep", script)

    with own_database() as url:
        environment = {"ENVIRONMENT": "sandbox", "DATABASE_URL": url}
        before = in_image(check, environment)
        migrated = in_image(".venv/bin/python manage.py migrate --verbosity 0", environment)
        waited = in_image(script, environment)

    assert (before.returncode, migrated.returncode, waited.returncode) == (1, 0, 0), before.stderr


# nginx


@pytest.fixture
def conf(pods: dict[str, Manifest], tmp_path: Path) -> str:
    """The configuration that the init container of the front makes, with the lists of this test."""
    for name in ("conf", "away", "front"):
        (tmp_path / name).mkdir()
    (container,) = pods["front"]["initContainers"]
    script = container["command"][-1].replace("/made", str(tmp_path)).replace("/etc/nginx/front", str(BASE))

    done = in_image(script, {"BASE_URL": f"https://{HOST}:8443"})

    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "away").iterdir()) == sorted(
        path.name for path in (ROOT / "deploy" / "away").iterdir()
    )
    return (tmp_path / "conf" / "default.conf").read_text()


def test_what_differs_from_the_configuration_of_one_machine(conf: str) -> None:
    shipped = (ROOT / "deploy" / "nginx.conf").read_text().splitlines()

    lines = [line.strip() for line in conf.splitlines() if line not in shipped]
    assert lines == [
        "# The Service `web`, twice: a second try mostly reaches another pod.",
        "include /etc/nginx/front/proxies.conf;",
        "server web:8000 max_fails=0;",
        "server web:8000 max_fails=0;",
        "listen 8443 ssl http2;",
        "listen [::]:8443 ssl http2;",
        "server_name _;",
        "access_log /dev/stdout without_query;",
        "error_log /dev/stderr crit;",
        "include /etc/nginx/front/operators.conf;",
        "listen 8080;",
        "listen [::]:8080;",
        "server_name _;",
        "access_log /dev/stdout without_query;",
        "error_log /dev/stderr crit;",
        f"return 301 https://{HOST}:8443$request_uri;",
    ]
    admin = conf.partition("location /admin/ {")[2].partition("}")[0]
    assert re.findall("(?:allow|deny) .*;", admin) == ["deny all;"]
    assert "/var/log" not in conf
    assert "{{" not in conf


def test_the_pages_and_the_configuration_are_in_the_image() -> None:
    assert all(
        map(is_copied, ("deploy/nginx.conf.template", "deploy/away/away.html", "deploy/away/away.json"))
    )


def test_the_folders_of_nginx_are_mounted_in_memory_or_from_the_init_container(
    pods: dict[str, Manifest], conf: str
) -> None:
    (container,) = pods["front"]["containers"]
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}

    written = {"/tmp", *re.findall("client_body_temp_path (.*);", conf)}
    assert {path for path, mount in mounts.items() if not mount.get("readOnly")} == written
    for path in written:
        assert volumes(pods["front"])[mounts[path]["name"]]["emptyDir"]["medium"] == "Memory"
    assert re.findall("root (.*/away);", conf)[0] in mounts
    tls = volumes(pods["front"])["tls"]["secret"]
    files = {f"/etc/ssl/presentation/{item['path']}" for item in tls["items"]}
    assert files == set(re.findall("ssl_certificate(?:_key)? +(.*);", conf))
    assert f"create secret tls {tls['secretName']} " in DOCUMENT


class Dying(Exchange):
    """Is killed over the first request, as a pod that goes away, and answers the next ones."""

    def handle(self) -> None:
        self.server.dies = self.server.seen == 0
        super().handle()


@pytest.fixture
def front(conf: str, tmp_path: Path) -> Iterator[tuple[int, int, Server]]:
    """The ports of nginx with and without TLS, and the server to which the Service sends."""
    port, plain = free_port(), free_port()
    (tmp_path / "front" / "operators.conf").write_text("allow 127.0.0.2;\n")
    (tmp_path / "front" / "proxies.conf").write_text(
        "set_real_ip_from 127.0.0.3;\nreal_ip_header X-Forwarded-For;\n"
    )
    with Server(dies=False) as server:
        server.RequestHandlerClass = Dying
        Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        here = {
            "listen 8443": f"listen 127.0.0.1:{port}",
            "listen [::]:8443": f"listen [::1]:{port}",
            "listen 8080": f"listen 127.0.0.1:{plain}",
            "listen [::]:8080": f"listen [::1]:{plain}",
            "server web:8000": f"server 127.0.0.1:{server.server_address[1]}",
            "/etc/nginx/front": f"{tmp_path}/front",
            "/dev/stdout": f"{tmp_path}/log",
        }
        with running(tmp_path, port, conf, here):
            yield port, plain, server
        server.shutdown()


@pytest.mark.nginx
def test_nginx_tries_the_one_service_again(front: tuple[int, int, Server]) -> None:
    port, _, server = front
    server.seen = 0

    assert Visitor(port, HOST).ask("GET", "/wallet/")[0].status == 204
    assert server.seen == 2
    server.seen = 0
    assert Visitor(port, HOST).ask("POST", "/wallet/close/", "a=b")[0].status == 503
    assert server.seen == 1


@pytest.mark.nginx
@pytest.mark.parametrize(
    ("address", "forwarded", "status"),
    [
        ("127.0.0.1", "127.0.0.2", 403),  # anybody can send the header
        ("127.0.0.2", "", 204),
        ("127.0.0.3", "127.0.0.2", 204),  # the proxy in front
        ("127.0.0.3", "127.0.0.1", 403),
    ],
)
def test_only_the_networks_of_operators_reach_the_admin(
    front: tuple[int, int, Server], address: str, forwarded: str, status: int
) -> None:
    header = {"X-Forwarded-For": forwarded} if forwarded else {}

    answer, _ = Visitor(front[0], HOST, address=address).ask("GET", "/admin/", **header)

    assert answer.status == status


@pytest.mark.nginx
def test_plain_http_leads_to_the_address_of_the_service(front: tuple[int, int, Server]) -> None:
    plain = HTTPConnection("127.0.0.1", front[1], timeout=30)
    plain.request("GET", "/wallet/?a=b", headers={"Host": "attacker.example"})
    answer = plain.getresponse()
    plain.close()

    assert (answer.status, answer.headers["Location"]) == (301, f"https://{HOST}:8443/wallet/?a=b")


# The network


def test_every_client_keeps_its_address(
    built: list[Manifest], made: tuple[dict[str, str], dict[str, str]]
) -> None:
    services = of_kind(built, "Service")

    assert services["front"]["spec"]["type"] == "LoadBalancer"
    assert services["front"]["spec"]["externalTrafficPolicy"] == "Local"
    assert "type" not in services["web"]["spec"]  # nobody outside passes nginx by
    assert made[1]["TRUSTED_PROXY_COUNT"] == "1"


def test_each_service_reaches_the_ports_of_its_pods(built: list[Manifest], pods: dict[str, Manifest]) -> None:
    for name, service in of_kind(built, "Service").items():
        (container,) = pods[name]["containers"]
        assert service["spec"]["selector"] == {"app": "presentation", "part": name}
        targets = [port["targetPort"] for port in service["spec"]["ports"]]
        assert targets == [port["name"] for port in container["ports"]]


def policies(built: list[Manifest], part: str) -> list[Manifest]:
    """The policies that select the pods of a part."""
    labels = {"app": "presentation", "part": part}
    found = []
    for policy in of_kind(built, "NetworkPolicy").values():
        selector = policy["spec"]["podSelector"]
        (among,) = selector.get("matchExpressions", [{"values": [part]}])
        if selector.get("matchLabels", {}).items() <= labels.items() and part in among["values"]:
            found.append(policy["spec"])
    return found


def reached(built: list[Manifest], part: str) -> set[tuple[str, int]]:
    """Where a part may connect: each peer in a word, with the port."""
    found = set()
    for policy in policies(built, part):
        for rule in policy.get("egress", []):
            for peer in rule["to"]:
                labels = {
                    **peer.get("namespaceSelector", {}).get("matchLabels", {}),
                    **peer.get("podSelector", {}).get("matchLabels", {}),
                }
                name = labels.get("part") or labels.get("kubernetes.io/metadata.name") or "public"
                found |= {(name, port["port"]) for port in rule["ports"]}
    return found


def test_every_part_reaches_what_it_needs_and_nothing_else(built: list[Manifest]) -> None:
    dns, database = ("kube-system", 53), ("database", 5432)
    outside = {("public", 443), ("public", 465), ("public", 587), ("front", 8443)}

    assert {part: reached(built, part) for part in (*OURS, "front", "another")} == {
        "web": {dns, database, *outside},
        "worker": {dns, database, *outside},
        "audit": {dns, database},
        "migrate": {dns, database},
        "front": {dns, ("web", 8000)},
        "another": {dns},
    }
    refusing = [policy for policy in policies(built, "another") if "egress" not in policy]
    assert refusing == [{"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}]


def test_only_nginx_is_open_to_everybody(built: list[Manifest]) -> None:
    incoming = {
        part: [each["ingress"] for each in policies(built, part) if "ingress" in each] for part in OURS
    }

    assert {part: rules for part, rules in incoming.items() if rules}.keys() == {"web"}
    [[rule]] = incoming["web"]
    assert [port["port"] for port in rule["ports"]] == [8000]
    assert rule["from"] == [
        {"podSelector": {"matchLabels": {"app": "presentation", "part": "front"}}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}},
    ]


def test_outside_is_public_addresses_only(built: list[Manifest]) -> None:
    rules = of_kind(built, "NetworkPolicy")["outgoing"]["spec"]["egress"]
    blocks = [peer["ipBlock"] for rule in rules for peer in rule["to"] if "ipBlock" in peer]
    left_out = [ip_network(text) for block in blocks for text in block["except"]]

    for inside in ("10.1.2.3", "172.20.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "fd00::1"):
        address = ip_network(inside)
        assert any(
            address.version == each.version and address.subnet_of(each)  # type: ignore[arg-type]
            for each in left_out
        )
    assert all(
        ip_network(text).subnet_of(ip_network(block["cidr"])) for block in blocks for text in block["except"]
    )  # type: ignore[arg-type]


# The document


def test_the_overlay_of_the_document_builds(tmp_path: Path) -> None:
    (overlay,) = re.findall("```yaml\n(.*?)```", DOCUMENT, re.DOTALL)
    folder = tmp_path / "deploy" / "kubernetes"
    folder.mkdir(parents=True)
    (folder.parent / BASE.name).symlink_to(BASE)
    (folder / "operators.conf").write_text("allow 203.0.113.0/24;\n")
    if "Kustomize Version" not in version():
        overlay = overlay.replace("resources:", "bases:")  # kubectl before 1.21
    (folder / "kustomization.yaml").write_text(overlay)

    manifests = build(folder)

    assert faults(manifests) == []
    pods = {part: template["spec"] for part, template in pod_templates(manifests).items()}
    assert pods["web"]["containers"][0]["image"] == f"registry.example/presentation:{VERSION}"
    (lists,) = of_kind(manifests, "ConfigMap").values()
    assert lists["data"]["operators.conf"] == "allow 203.0.113.0/24;\n"
    assert lists["data"]["nginx.sed"] == (BASE / "nginx.sed").read_text()
    assert volumes(pods["front"])["front"]["configMap"]["name"] == lists["metadata"]["name"]


def version() -> str:
    return subprocess.check_output([str(kubectl()), "version", "--client"], text=True)


def test_what_setup_makes_is_not_tracked_and_the_base_is() -> None:
    def ignored(name: str) -> bool:
        return not subprocess.run(["git", "check-ignore", "--quiet", name], cwd=ROOT).returncode

    assert ignored("deploy/kubernetes/presentation.yaml")
    assert ignored("deploy/kubernetes/database.sql")
    assert not [path for path in BASE.iterdir() if ignored(str(path.relative_to(ROOT)))]
