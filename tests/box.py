"""A pristine Debian in a folder, booted with its own systemd, for tests of the package.

debootstrap makes a minimal system once; every test gets a writable layer over it (overlayfs), booted by systemd-nspawn: own /tmp,
own processes, no network. Nothing of it can reach the machine's files. Needs root.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# What a usual small installation has beyond debootstrap's minimum.
PACKAGES = ("systemd-sysv", "dbus", "python3", "socat")


def missing_programs() -> list[str]:
    return [name for name in ("debootstrap", "systemd-nspawn", "nsenter", "mount", "dpkg-deb") if shutil.which(name) is None]


def debootstrap(target: Path, suite: str) -> Path:
    """A minimal system in `target`, kept for the next time."""
    if not (target / "etc" / "debian_version").is_file() or (target / "debootstrap").exists():
        shutil.rmtree(target, ignore_errors=True)
        command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", suite, str(target)]
        subprocess.run(command, check=True, timeout=1800, stdout=subprocess.DEVNULL)
    return target


class Box:
    """A booted system. `root` is its file system as seen from outside, `memory_group` its control group of that kind, if any."""

    def __init__(self, root: Path, leader: int, memory_group: Path | None) -> None:
        self.root = root
        self.memory_group = memory_group
        self._leader = leader

    def command(self, *command: str, user: str = "root") -> list[str]:
        """The command line that runs `command` inside."""
        switch = [] if user == "root" else ["runuser", "-u", user, "--"]
        clean = [
            "env",
            "-i",
            "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "LANG=C.UTF-8",
            "DEBIAN_FRONTEND=noninteractive",
        ]
        return ["nsenter", "--target", str(self._leader), "--all", "--", *clean, *switch, *command]

    def run(
        self, *command: str, user: str = "root", text: str = "", check: bool = True, timeout_s: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """Run inside, output captured as text. With `check`, AssertionError shows what went wrong."""
        done = subprocess.run(
            self.command(*command, user=user), input=text, capture_output=True, text=True, timeout=timeout_s, errors="replace"
        )
        assert not check or done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done

    def shell(self, script: str, *, user: str = "root", check: bool = True, timeout_s: float = 300) -> str:
        """Run a shell script inside; returns its standard output."""
        return self.run("sh", "-c", script, user=user, check=check, timeout_s=timeout_s).stdout

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
        until_s = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until_s, f"{what} did not happen within {seconds} s:\n{self.journal()}"
            time.sleep(0.2)

    def state(self, unit: str) -> str:
        return self.run("systemctl", "is-active", unit, check=False).stdout.strip()

    def journal(self) -> str:
        return self.run("journalctl", "-b", "--no-pager", "-n", "60", check=False).stdout


@contextmanager
def booted(base: Path, work: Path, *, memory_bytes: int = 0, cores: str = "") -> Iterator[Box]:
    """Boot a fresh layer over `base`; everything is gone afterwards.

    memory_bytes: what the whole system may use, its file cache included; 0 is no limit
    cores: processors that it may use, as taskset has them
    """
    root = work / "root"
    for name in ("root", "upper", "overlay"):
        (work / name).mkdir(parents=True)
    layers = f"lowerdir={base},upperdir={work / 'upper'},workdir={work / 'overlay'}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, str(root)], check=True)
    try:
        with _control_groups(memory_bytes) as groups, _running(root, work / "console.log", groups, cores) as leader:
            box = Box(root, leader, next((group for group in groups if group.parent.name == "memory"), None))
            booting = ("running", "degraded")
            box.wait(lambda: box.run("systemctl", "is-system-running", check=False).stdout.strip() in booting, "boot", 120)
            yield box
    finally:
        subprocess.run(["umount", "--lazy", str(root)], check=True)
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _control_groups(memory_bytes: int) -> Iterator[list[Path]]:
    """A group of its own in every hierarchy of this machine, so that what the system inside makes there is removed with it."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    groups = [Path(mount[1]) / f"edge-tts-box-{os.getpid()}" for mount in mounts if mount[2] in ("cgroup", "cgroup2")]
    try:
        for group in groups:
            group.mkdir(exist_ok=True)
            for name in ("cpuset.cpus", "cpuset.mems"):
                if (group / name).exists():
                    (group / name).write_text((group.parent / name).read_text())
            if memory_bytes and (group / "memory.limit_in_bytes").exists():
                (group / "memory.limit_in_bytes").write_text(str(memory_bytes))
        yield groups
    finally:
        for group in groups:
            _remove_group(group)


def _remove_group(group: Path) -> None:
    for _ in range(50):
        for directory, _, _ in os.walk(group, topdown=False):
            with suppress(OSError):
                os.rmdir(directory)
        if not group.exists():
            return
        time.sleep(0.2)


@contextmanager
def _running(root: Path, console: Path, groups: list[Path], cores: str) -> Iterator[int]:
    """systemd-nspawn on `root`; gives the process id of the init inside."""
    command = ["systemd-nspawn", "-D", str(root), "--register=no", "--keep-unit", "--private-network", "--console=pipe", "--boot"]
    if cores:
        command = ["taskset", "--cpu-list", cores, *command]

    def enter() -> None:
        for group in groups:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    with console.open("wb") as log:
        nspawn = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=enter)
    try:
        yield _leader(nspawn, console)
    finally:
        nspawn.send_signal(signal.SIGTERM)  # asks the init inside to power off
        try:
            nspawn.wait(40)
        except subprocess.TimeoutExpired:
            nspawn.kill()
            nspawn.wait(30)


def _leader(nspawn: subprocess.Popen[bytes], console: Path) -> int:
    """The init's process id: the child of nspawn that has a process namespace of its own and has become systemd."""
    own = os.readlink("/proc/self/ns/pid")
    for _ in range(300):
        assert nspawn.poll() is None, console.read_text(errors="replace")
        children = Path(f"/proc/{nspawn.pid}/task/{nspawn.pid}/children").read_text().split()
        for child in children:
            try:
                if os.readlink(f"/proc/{child}/ns/pid") != own and Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                    return int(child)
            except OSError:
                continue
        time.sleep(0.1)
    raise TimeoutError(console.read_text(errors="replace"))
