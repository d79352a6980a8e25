"""Check what this machine, the installed voices and a running service need, and say what to do about what is wrong.

Exit status 0 means that nothing is broken; warnings are things that work, but could work better.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import re
import shutil
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from edge_tts import __version__, bundle, client, config, machine
from edge_tts.errors import EdgeTTSError
from edge_tts.service import units

Grade = Literal["ok", "warning", "broken"]
# Where systemd has the system service's CacheDirectory=
SERVICE_CACHE = Path("/var/cache/edge-tts")
# What speaking takes beside twice the bundle; what its compiled graphs take; less free disk than this is none.
_MEMORY_MB, _CACHE_MB, _FULL_MB = 600, 200, 16
_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Finding:
    """One line of the report; `remedy` is empty where there is nothing to do."""

    grade: Grade
    subject: str
    message: str
    remedy: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", help="check this bundle instead of all that are installed")
    parser.add_argument("--socket", help="check the service there instead of at the default places")


def run(args: argparse.Namespace) -> int:
    checks: list[Callable[[], Iterator[Finding]]] = [
        package,
        processor,
        engine,
        lambda: bundles(args.bundle),
        lambda: memory(args.bundle),
        cache,
        configuration,
        lambda: service(args.socket),
        installed_units,
    ]
    broken = False
    for check in checks:
        for finding in check():
            broken = broken or finding.grade == "broken"
            print(f"{finding.grade:8}{finding.subject}: {finding.message}")
            if finding.remedy:
                print(f"{'':8}-> {finding.remedy}")
    return 1 if broken else 0


def package() -> Iterator[Finding]:
    """The name clash, and the parts that are optional."""
    yield Finding("ok", "package", f"edge-tts-openvino {__version__}, Python {sys.version.split()[0]}")
    if _distribution("edge-tts"):
        yield Finding(
            "broken", "package", "the unrelated package 'edge-tts' is installed over it",
            "pip uninstall -y edge-tts edge-tts-openvino && pip install edge-tts-openvino",
        )  # fmt: skip
    own = units.PACKAGED_COMMAND if units.packaged() else Path(sys.executable).with_name("edge-tts")
    command = shutil.which("edge-tts")
    if command and Path(command).resolve() != own.resolve():
        what = "the unrelated package edge-tts's" if _is_the_other(Path(command)) else "not the one of this installation"
        yield Finding(
            "warning", "package", f"the command edge-tts on your PATH is {command}, {what}",
            f"pip uninstall edge-tts, or call this one as edge-tts-openvino or {own}",
        )  # fmt: skip
    missing = [name for name in ("starlette", "uvicorn", "wyoming", "prometheus_client") if not importlib.util.find_spec(name)]
    if missing:
        yield Finding(
            "warning", "package", f"no HTTP, Wyoming or metrics: {', '.join(missing)} not installed",
            "pip install 'edge-tts-openvino[service]', if you want them",
        )  # fmt: skip


def _distribution(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _is_the_other(command: Path) -> bool:
    """Whether a command is that of the cloud service's client, by what its launcher imports."""
    try:
        return re.search(r"from edge_tts\.(__main__|util) import", command.read_text(encoding="utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> Iterator[Finding]:
    """Instruction sets that decide whether and how fast int8 graphs run."""
    try:
        found = machine.processor(cpuinfo)
    except OSError:
        yield Finding("warning", "CPU", f"{cpuinfo} cannot be read, so its features are not known")
        return
    name, flags = found.name, found.features
    if "sse4_2" not in flags:
        yield Finding("broken", "CPU", f"{name} lacks SSE 4.2, which OpenVINO needs", "use another machine")
    elif "avx2" not in flags:
        yield Finding("warning", "CPU", f"{name} lacks AVX2; speech is slow", "expect speech slower than real time")
    else:
        int8 = next((f for f in ("amx_int8", "avx512_vnni", "avx_vnni") if f in flags), None)
        speed = f"{int8} for int8" if int8 else "no VNNI, so int8 is slower"
        yield Finding("ok", "CPU", f"{name}, {os.cpu_count()} threads, AVX2, {speed}")


def engine() -> Iterator[Finding]:
    """Whether OpenVINO loads and finds the CPU."""
    try:
        from edge_tts.engine import Engine

        Engine()
    except (ImportError, RuntimeError, OSError) as error:
        yield Finding("broken", "OpenVINO", f"does not load: {error}", "pip install --force-reinstall openvino")
    else:
        yield Finding("ok", "OpenVINO", importlib.metadata.version("openvino"))


def bundles(given: str | None) -> Iterator[Finding]:
    """Every file of every bundle against its hash."""
    try:
        paths = [bundle.find(given)] if given else bundle.installed() or [bundle.find(None)]
    except EdgeTTSError as error:
        yield Finding("broken", "voices", str(error), "edge-tts bundle add FILE puts one that you have in place")
        return
    for path in paths:
        try:
            manifest = bundle.open_bundle(path, verify=True).manifest
        except EdgeTTSError as error:
            remedy = "apt-get install --reinstall" if path.is_relative_to("/usr") else "edge-tts bundle add"
            yield Finding("broken", "voices", str(error), f"{remedy}, from the file that it came in")
        else:
            size_mb = sum(entry.size for entry in manifest.files) / 1e6
            contents = f"{manifest.family}, {len(manifest.voices)} voices, {size_mb:.0f} MB, hashes right"
            yield Finding("ok", "voices", f"{path}: {contents}")


def memory(
    given: str | None, meminfo: Path = Path("/proc/meminfo"), cgroups: Path = Path("/sys/fs/cgroup")
) -> Iterator[Finding]:
    """Whether this machine, or what a control group leaves of it, has the memory that speaking with the voice takes."""
    try:
        path = bundle.find(given)
        bundle_bytes = sum(entry.size for entry in bundle.read_manifest(path).files)
        lines = dict(line.split(":") for line in meminfo.read_text(encoding="utf-8").splitlines())
        total_mb, free_mb = (int(lines[name].split()[0]) * 1024 // _MEGABYTE for name in ("MemTotal", "MemAvailable"))
    except (EdgeTTSError, OSError, KeyError, ValueError):
        return  # reported elsewhere, or hidden here
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        limit = cgroups / name
        if limit.is_file() and (text := limit.read_text().strip()).isdigit():
            total_mb = min(total_mb, int(text) // _MEGABYTE)
    needed_mb = _MEMORY_MB + 2 * bundle_bytes // _MEGABYTE
    if total_mb < needed_mb:
        yield Finding(
            "broken", "memory", f"{total_mb} MB in all; speaking with {path.name} takes about {needed_mb} MB",
            "choose a smaller bundle, or give the machine more memory",
        )  # fmt: skip
    elif free_mb < needed_mb and not any(path.exists() for path in client.default_paths()):
        yield Finding(
            "warning", "memory", f"{free_mb} MB are free; speaking with {path.name} takes about {needed_mb} MB",
            "end other programs",
        )  # fmt: skip
    else:
        yield Finding("ok", "memory", f"{total_mb} MB, {free_mb} MB of it free")


def cache() -> Iterator[Finding]:
    """Whether compiled graphs can be kept, by this user and by the system's service."""
    from edge_tts.engine import default_cache_dir

    yield from _cache(default_cache_dir())
    try:
        if os.geteuid() == 0 and SERVICE_CACHE.is_dir():
            yield from _cache(SERVICE_CACHE)
    except PermissionError:
        pass


def _cache(path: Path) -> Iterator[Finding]:
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    size_mb = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6 if path.exists() else 0
    free_mb = shutil.disk_usage(existing).free / 1e6
    if not os.access(existing, os.W_OK | os.X_OK):
        yield Finding(
            "warning", "cache", f"{path} cannot be written, so every start compiles the graphs anew", f"make {existing} writable"
        )
    elif free_mb < _CACHE_MB - size_mb:
        grade: Grade = "broken" if free_mb < _FULL_MB else "warning"
        message = f"the disk is full: {free_mb:.0f} MB are free at {existing}; compiled graphs take about {_CACHE_MB} MB"
        remedy = "make room: apt-get clean; journalctl --vacuum-size=50M; df -h shows where it went"
        yield Finding(grade, "cache", message, remedy)
    else:
        yield Finding("ok", "cache", f"{path}, {size_mb:.0f} MB")


def configuration() -> Iterator[Finding]:
    path = config.find(None)
    try:
        config.load(path)
    except EdgeTTSError as error:
        yield Finding("broken", "configuration", str(error), "correct it; edge-tts config --config /dev/null prints a right one")
    else:
        yield Finding("ok", "configuration", str(path) if path else "no file, so the defaults")


def service(given: str | None) -> Iterator[Finding]:
    """Whether a service answers, and whether this user may ask it."""
    paths = [Path(given)] if given else [path for path in client.default_paths() if path.exists()]
    if not paths:
        places = ", ".join(map(str, client.default_paths()))
        if units.packaged():
            yield Finding("broken", "service", f"no socket at {places}", "systemctl enable --now edge-tts.socket")
        else:
            yield Finding("ok", "service", f"none is running; a socket would be at {places}")
    for path in paths:
        if path.exists() and not os.access(path, os.W_OK):
            group = path.group()
            yield Finding("broken", "service", f"{path}: you may not connect", f"usermod -aG {group} YOU, then log in again")
            continue
        try:
            answer = client.Client(path, timeout_s=30).command("ping")
        except EdgeTTSError as error:
            answer, message = "", str(error)
        else:
            message = f"{path} answers {answer[:20]!r}"
        if answer == "pong":
            yield Finding("ok", "service", f"{path} answers pong")
        elif (holder := _listener(path)) and holder[1] not in ("systemd", "edge-tts", "python3"):
            number, name = holder
            yield Finding(
                "broken", "service", f"{path} is taken by another program: {name}, process {number}",
                f"kill {number}; then systemctl restart edge-tts.socket",
            )  # fmt: skip
        else:
            remedy = "journalctl -u edge-tts -n 30 says why; systemctl restart edge-tts.socket"
            yield Finding("broken", "service", message, remedy)


def _listener(path: Path) -> tuple[int, str] | None:
    """Process id and name of who listens on a Unix socket; None where that cannot be found out."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.settimeout(5)
            connection.connect(str(path))
            number = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
            return number, Path(f"/proc/{number}/comm").read_text(encoding="utf-8").strip()
        except OSError:
            return None


def installed_units() -> Iterator[Finding]:
    """Whether installed units still fit this installation."""
    for directory, user in (
        (units.PACKAGED_DIRECTORY, False),
        (units.SYSTEM_DIRECTORY, False),
        (units.USER_DIRECTORY.expanduser(), True),
    ):
        path = directory / "edge-tts.service"
        if not path.is_file():
            continue
        again = "edge-tts install-unit" + (" --user" if user else "")
        line = next((line for line in path.read_text().splitlines() if line.startswith("ExecStart=")), "")
        program = line.removeprefix("ExecStart=").removesuffix(" serve").split(" -m ")[0].strip('"')
        if not Path(program).exists():
            yield Finding("broken", "units", f"{path} starts {program or 'nothing'}, which is not there", again)
        elif not user and units.hidden(Path(program)):
            message = f"{path} starts {program}, which a system service cannot see"
            yield Finding("broken", "units", message, f"install into /opt/edge-tts, then {again}")
        else:
            yield Finding("ok", "units", str(path))
