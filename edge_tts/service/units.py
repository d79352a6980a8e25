"""What is installed to run the service: the files of `systemd/` with this machine's paths and limits filled in, and a module
configuration with which speech-dispatcher, and through it screen readers, speak by the service."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from edge_tts.bundle import Manifest
from edge_tts.errors import ServiceError

# Where units go: for the system, and for one user
SYSTEM_DIRECTORY = Path("/etc/systemd/system")
USER_DIRECTORY = Path("~/.config/systemd/user")
SYSUSERS = Path("/etc/sysusers.d/edge-tts.conf")
# Where the Debian package has its units, its libraries and its command
PACKAGED_DIRECTORY = Path("/usr/lib/systemd/system")
PACKAGED_LIBRARY, PACKAGED_COMMAND = Path("/usr/lib/edge-tts"), Path("/usr/bin/edge-tts")
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


def units(*, user: bool, bundle_bytes: int, program: str = "") -> dict[str, str]:
    """File name -> text, of every unit.

    bundle_bytes: size of the bundle's files, which the memory limits follow
    program: command that starts `edge-tts`, as ExecStart= has it; by default that of this installation
    """
    directory = source_directory() / "user" if user else source_directory()
    values = {
        "EDGE_TTS": program or own_program(),
        "MEMORY_HIGH": f"{memory_high_mb(bundle_bytes)}M",
        "MEMORY_MAX": f"{memory_high_mb(bundle_bytes) * 3 // 2}M",
    }
    return {
        path.name: re.sub(r"@([A-Z_]+)@", lambda match: values[match[1]], path.read_text(encoding="utf-8"))
        for path in sorted(directory.glob("edge-tts*"))
        if path.suffix in (".service", ".socket")
    }


def own_program() -> str:
    """What starts this installation: the Debian package's command, which knows its libraries' place, or else this Python."""
    return str(PACKAGED_COMMAND) if packaged() else f"{_quoted(sys.executable)} -m edge_tts"


def packaged() -> bool:
    """Whether this installation is the Debian package's."""
    return Path(__file__).is_relative_to(PACKAGED_LIBRARY)


def memory_high_mb(bundle_bytes: int) -> int:
    """MemoryHigh= for a bundle of that size, in megabytes."""
    return 1500 + 5 * bundle_bytes // _MEGABYTE


def _quoted(word: str) -> str:
    """A word of ExecStart=: quoted where it has spaces, and with % and $ taken literally."""
    word = word.replace("%", "%%").replace("$", "$$")
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' if re.search(r"[\s\"'\\;]", word) else word


def hidden(path: Path) -> bool:
    """Whether the system's unit cannot reach this path, because its hardening hides it."""
    return any(path.absolute().is_relative_to(directory) for directory in HIDDEN)


SPEECH_DISPATCHER_MODULE = "edge-tts.conf"
# speech-dispatcher knows voices by these names; three of a kind are all there are.
_SYMBOLIC = {"male": ("MALE1", "MALE2", "MALE3"), "female": ("FEMALE1", "FEMALE2", "FEMALE3")}


def speech_dispatcher_module(manifest: Manifest, socket_path: str) -> str:
    """A configuration for speech-dispatcher's generic module that speaks with the voices of this bundle.

    A rate of -100..100 becomes a speed of 0.5..2. socat and the player are killed when speech is cancelled; the service notices
    that the client has left and drops the request.
    """
    speed = "$(awk \\'BEGIN { r = $RATE; print r < 0 ? 1 + r / 200 : 1 + r / 100 }\\')"
    line = f"edge-tts/1 priority=high voice=$VOICE speed={speed}"
    text = f"echo \\\"{line}\\\"; printf \\'%s\\\\n\\' \\'$DATA\\'"
    command = f"{{ {text}; }} | socat -t 60 - UNIX-CONNECT:{socket_path} | $PLAY_COMMAND"
    lines = [
        "# Made by `edge-tts install-unit --speech-dispatcher`; make it again after changing the voice bundle.",
        f'GenericExecuteSynth "{command}"',
        'GenericCmdDependency "socat"',
        'GenericCmdDependency "awk"',
        "GenericRateForceInteger 1",
        "GenericRateMultiply 100",
        "GenericRateAdd 0",
        "Debug 0",
    ]
    for language in dict.fromkeys(_primary(voice.language) for voice in manifest.voices):
        lines.append(f'GenericLanguage "{language}" "{language}" "utf-8"')
        lines += [f'AddVoice "{language}" "{name}" "{voice}"' for name, voice in _named_voices(manifest, language).items()]
    lines.append(f'DefaultVoice "{manifest.voices[0].name}"')
    return "\n".join(lines) + "\n"


def _named_voices(manifest: Manifest, language: str) -> dict[str, str]:
    """Symbolic name -> voice, for one language; MALE1, which is asked for when nothing is said, is the language's default."""
    named: dict[str, str] = {}
    for voice in manifest.voices:
        if _primary(voice.language) == language:
            kind = "female" if voice.description.startswith("female") else "male"
            free = next((name for name in _SYMBOLIC[kind] if name not in named), None)
            if free is not None:
                named[free] = voice.name
    fallback = manifest.default_voices.get(language) or next(iter(named.values()))
    return {"MALE1": fallback, **named}


def _primary(tag: str) -> str:
    return tag.split("-")[0].lower()
