"""A machine that systemd boots, in namespaces of this one: what is installed here, and files of its own.

Its root is an overlay of this machine's, so nothing that it writes stays. It has a network of its own, with
loopback alone. Of the services that are installed here only PostgreSQL and nginx start, as on a machine where
they have just been installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Self

PACKAGES = ("postgresql", "nginx", "python3-venv", "git", "curl", "openssl", "systemd")
LONGEST = 550  # seconds; a longer wait never ends
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# $1: an empty folder; the others: folders of this machine that may be mounts of their own, to read only.
BOOT = """
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$1"
root=$1/root
mkdir "$1/upper" "$1/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys" && mount -o remount,ro,bind "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
    mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
    mkdir "$root/sys/fs/cgroup/systemd"
    mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
fi
for folder in dev run; do mount -t tmpfs -o mode=755 tmpfs "$root/$folder"; done
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
shift
for folder; do
    mkdir -p "$root$folder"
    mount --bind "$folder" "$root$folder"
    mount -o remount,ro,bind "$root$folder"
done
units=$root/etc/systemd/system
rm -f "$units"/*.wants/*
mkdir -p "$units/multi-user.target.wants"
for unit in nginx postgresql; do
    ln -s "/lib/systemd/system/$unit.service" "$units/multi-user.target.wants/"
done
for unit in console-getty getty@ systemd-timesyncd systemd-networkd systemd-resolved; do
    ln -sf /dev/null "$units/$unit.service"
done
mkdir "$root/before"
cd "$root"
pivot_root . before
exec chroot . sh -ec 'umount -l /before; exec env -i container=namespaces PATH="$0" \\
    /lib/systemd/systemd --unit=multi-user.target --log-target=journal --show-status=no' "$PATH"
"""


class NotBootedError(Exception):
    """systemd cannot boot in namespaces of this machine; the text says why."""


def missing() -> str:
    """What this machine lacks; empty if systemd may boot in namespaces of it."""
    if os.geteuid():
        return "root"
    if not all(map(shutil.which, ("unshare", "nsenter", "dpkg-query"))):
        return "Debian, with util-linux"
    lacking = [name for name in PACKAGES if not _is_installed(name)]
    return f"Debian's {', '.join(lacking)}" if lacking else ""


def has_python_of_the_tests() -> bool:
    """Whether Debian's Python has the version of this one, so that it can use the same packages."""
    program = "import sys; print(sys.version_info[:2])"
    done = subprocess.run(["/usr/bin/python3", "-c", program], capture_output=True, text=True)
    return done.stdout.strip() == str(sys.version_info[:2])


def _is_installed(package: str) -> bool:
    words = ["dpkg-query", "--show", "--showformat", "${Status}", package]
    return subprocess.run(words, capture_output=True, text=True).stdout.endswith(" installed")


class Booted:
    """The machine; a context manager. Raises NotBootedError. folders: of this machine, that it can read."""

    def __init__(self, *folders: Path) -> None:
        self._folders, self._stack = folders, ExitStack()

    def __enter__(self) -> Self:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="booted-"))
        groups = self._stack.enter_context(_ControlGroups())
        log = self._stack.enter_context(tempfile.TemporaryFile())
        kinds = ["--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--net", "--cgroup"]
        words = ["sh", "-euc", BOOT, "sh", folder, *map(str, self._folders)]
        self._process = subprocess.Popen(
            [*groups.joining, "unshare", *kinds, *words], stdout=log, stderr=log, env={"PATH": PATH}
        )
        self._stack.callback(self._end)
        try:
            self._wait_for_boot()
        except NotBootedError as error:
            log.seek(0)
            self._stack.close()
            raise NotBootedError(log.read().decode().strip()[-500:] or str(error)) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, script: str, *, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """What bash does with a script, as root at the console of the machine."""
        command = [*self.entering, "env", "-i", f"PATH={PATH}", "HOME=/root", "bash", "-ec", script]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LONGEST)

    def shell(self, script: str) -> str:
        """What a script prints that succeeds."""
        done = self.run(script)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @property
    def entering(self) -> list[str]:
        """The command that runs another one in the machine."""
        return ["nsenter", "--target", str(self._systemd), "--all", "--root", "--wd"]

    def in_its_network(self, *words: str) -> "subprocess.Popen[bytes]":
        """Starts a program of this machine in the other one's network; ends with the machine."""
        command = ["nsenter", "--target", str(self._systemd), "--net", *words]
        process = subprocess.Popen(command)
        self._stack.callback(process.wait, LONGEST)
        self._stack.callback(process.terminate)
        return process

    def _wait_for_boot(self) -> None:
        until = monotonic() + 60
        while monotonic() < until:
            if self._process.poll() is not None:
                raise NotBootedError(f"unshare ended with status {self._process.returncode}")
            if self._children() and self.run("systemctl is-active multi-user.target").returncode == 0:
                return
            sleep(0.2)
        raise NotBootedError("systemd did not reach multi-user.target")

    def _children(self) -> list[str]:
        """The process of systemd, once unshare has made it."""
        path = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        found = path.read_text().split() if path.exists() else []
        self._systemd = int(found[0]) if found else 0
        return found

    def _end(self) -> None:
        self._process.kill()  # with --kill-child systemd ends, and with it every process of the machine
        self._process.wait(LONGEST)


class _ControlGroups:
    """A control group for the machine in each hierarchy, below which systemd makes its own."""

    def __enter__(self) -> Self:
        self.folders = [folder / f"booted-{os.getpid()}" for folder in _own_control_groups()]
        for folder in self.folders:
            with suppress(OSError):  # then unshare says what is missing
                folder.mkdir()
        return self

    @property
    def joining(self) -> list[str]:
        """The command that runs another one in the groups. A new group of `cpuset` takes no process."""
        script = 'for group in $0; do echo $$ > "$group/cgroup.procs" || true; done 2>/dev/null; exec "$@"'
        return ["sh", "-c", script, " ".join(map(str, self.folders))]

    def __exit__(self, *_: object) -> None:
        for _attempt in range(50):  # the kernel takes a moment to forget processes
            for folder in self.folders:
                below = [path for path in folder.rglob("*") if path.is_dir()]
                for each in sorted([folder, *below], reverse=True):
                    with suppress(OSError):
                        each.rmdir()
            if not any(folder.exists() for folder in self.folders):
                return
            sleep(0.1)


def _own_control_groups() -> list[Path]:
    """The folder of this process's control group in each hierarchy that is mounted."""
    found = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _number, controllers, group = line.split(":", 2)
        name = controllers.removeprefix("name=") or "unified"
        mounted = Path("/sys/fs/cgroup") / name
        if not controllers and not mounted.exists():
            mounted = mounted.parent  # where there is the unified hierarchy alone
        found.append(mounted / group.lstrip("/"))
    return [folder for folder in found if folder.is_dir()]
