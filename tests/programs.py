"""Where the programs that tests drive are installed. Needs no settings, so commands can import it."""

import os
import shutil
from glob import glob


def chromium() -> str | None:
    """The path of Chromium; Debian's shell without windows takes a quarter less CPU."""
    own = os.environ.get("CHROMIUM")
    names = (own, "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


def firefox() -> str | None:
    """The path of Firefox (Debian's firefox-esr)."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


def minibrowser() -> str | None:
    """The path of the browser of WebKitGTK (Debian's webkit2gtk-driver), if it can have a screen."""
    found = glob("/usr/lib/*/webkit2gtk-4.1/MiniBrowser")
    has_both = shutil.which("WebKitWebDriver") and shutil.which("Xvfb")
    return found[0] if found and has_both else None


def nginx() -> str | None:
    """The path of nginx. Debian installs it in a directory that only root has in PATH."""
    return shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")


def promtool() -> str | None:
    """The path of Prometheus' tool for rules (Debian's prometheus)."""
    return shutil.which("promtool")


def kubectl() -> str | None:
    """The path of Kubernetes' client, which builds Kustomize bases (Debian's kubernetes-client)."""
    return shutil.which("kubectl")


def pgbackrest() -> str | None:
    """The path of pgBackRest (Debian's pgbackrest)."""
    return shutil.which("pgbackrest")


def acme() -> bool:
    """Whether there are a client and a server of ACME (Debian's certbot and pebble)."""
    return all(map(shutil.which, ("certbot", "pebble", "pebble-challtestsrv")))


APACHE_MODULES = "/usr/lib/apache2/modules"


def apache() -> str | None:
    """The path of Apache, if it can be a client of OpenID Connect (Debian's libapache2-mod-auth-openidc)."""
    has_module = os.path.exists(f"{APACHE_MODULES}/mod_auth_openidc.so")
    return shutil.which("apache2", path=f"{os.environ['PATH']}:/usr/sbin") if has_module else None
