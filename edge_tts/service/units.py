"""The systemd units as they are installed: the files of `systemd/` with this machine's paths and limits filled in."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from edge_tts.errors import ServiceError

# Where units go: for the system, and for one user
SYSTEM_DIRECTORY = Path("/etc/systemd/system")
USER_DIRECTORY = Path("~/.config/systemd/user")
SYSUSERS = Path("/etc/sysusers.d/edge-tts.conf")
# What the hardening of the system's unit hides from the service
HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")
_MEGABYTE = 1_000_000


def source_directory() -> Path:
    """The unit files: in an installed package beside the code, in a checkout at its top."""
    package = Path(__file__).parent.parent
    for directory in (package / "systemd", package.parent / "systemd"):
        if (directory / "edge-tts.service").is_file():
            return directory
    raise ServiceError(f"the unit files are missing from {package}; install edge-tts-openvino again")


def units(*, user: bool, bundle_bytes: int) -> dict[str, str]:
    """File name -> text, of every unit.

    bundle_bytes: size of the bundle's files, which the memory limits follow
    """
    directory = source_directory() / "user" if user else source_directory()
    values = {
        "EDGE_TTS": f"{_quoted(sys.executable)} -m edge_tts",
        "MEMORY_HIGH": f"{memory_high_mb(bundle_bytes)}M",
        "MEMORY_MAX": f"{memory_high_mb(bundle_bytes) * 3 // 2}M",
    }
    return {
        path.name: re.sub(r"@([A-Z_]+)@", lambda match: values[match[1]], path.read_text(encoding="utf-8"))
        for path in sorted(directory.glob("edge-tts*"))
        if path.suffix in (".service", ".socket")
    }


def memory_high_mb(bundle_bytes: int) -> int:
    """MemoryHigh= for a bundle of that size, in megabytes."""
    return 400 + 4 * bundle_bytes // _MEGABYTE


def _quoted(word: str) -> str:
    """A word of ExecStart=: quoted where it has spaces, and with % and $ taken literally."""
    word = word.replace("%", "%%").replace("$", "$$")
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' if re.search(r"[\s\"'\\;]", word) else word


def hidden(path: Path) -> bool:
    """Whether the system's unit cannot reach this path, because its hardening hides it."""
    return any(path.absolute().is_relative_to(directory) for directory in HIDDEN)
