"""Install the systemd units, with this machine's paths filled in.

    sudo edge-tts install-unit          # for the whole machine; then do what it prints
    edge-tts install-unit --user        # for yourself
    edge-tts install-unit --print       # only show them
    edge-tts install-unit --speech-dispatcher    # instead, a module with which screen readers speak by the service

A system service runs as a user of its own that sees no home directories: Python and the voice bundle must lie elsewhere, for
instance in /opt/edge-tts and /var/lib/edge-tts/voices.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from edge_tts import bundle
from edge_tts.errors import BundleError, ServiceError
from edge_tts.service import units


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", action="store_true", help="units of your own, without root")
    parser.add_argument("--print", action="store_true", dest="show", help="print the units instead of writing them")
    parser.add_argument("--bundle", help="bundle that the memory limits are made for (default: the first installed one)")
    parser.add_argument(
        "--speech-dispatcher", action="store_true", help="write a module for speech-dispatcher instead of the units"
    )
    parser.add_argument("--directory", type=Path, help="write there instead, as for a package")


def run(args: argparse.Namespace) -> int:
    if args.speech_dispatcher:
        return _speech_dispatcher(args)
    path = _bundle(args.bundle)
    texts = units.units(user=args.user, bundle_bytes=_size(path))
    if not args.user and args.directory is None:
        for problem in _out_of_reach(path):
            print(f"edge-tts: warning: {problem}", file=sys.stderr)
    if args.show:
        for name, text in texts.items():
            print(f"# --- {name}\n{text}")
        return 0
    directory = args.directory or (units.USER_DIRECTORY.expanduser() if args.user else units.SYSTEM_DIRECTORY)
    for name, text in texts.items():
        _write(directory / name, text)
    if not args.user and args.directory is None:
        _write(units.SYSUSERS, (units.source_directory() / "edge-tts.sysusers.conf").read_text(encoding="utf-8"))
    print(_NEXT_USER if args.user else _NEXT_SYSTEM)
    return 0


def _speech_dispatcher(args: argparse.Namespace) -> int:
    """Write a module configuration that names the bundle's voices."""
    manifest = bundle.read_manifest(bundle.find(args.bundle))
    runtime_dir = os.environ.get("XDG_RUNTIME_DIR") if args.user else None
    socket_path = f"{runtime_dir}/edge-tts/text.sock" if runtime_dir else "/run/edge-tts/text.sock"
    text = units.speech_dispatcher_module(manifest, socket_path)
    if args.show:
        print(text, end="")
        return 0
    home = Path("~/.config/speech-dispatcher").expanduser() if args.user else Path("/etc/speech-dispatcher")
    _write((args.directory or home / "modules") / units.SPEECH_DISPATCHER_MODULE, text)
    print(_NEXT_SPEECH_DISPATCHER.format(home=home))
    return 0


_NEXT_SPEECH_DISPATCHER = """\
Next, add to {home}/speechd.conf:
  AddModule "edge-tts" "sd_generic" "edge-tts.conf"
  DefaultModule edge-tts
and try it: spd-say -o edge-tts "Hello." """

_NEXT_SYSTEM = """\
Next:
  systemd-sysusers && systemctl daemon-reload
  usermod -aG edge-tts NAME                    # who may speak; counts from the next login
  systemctl enable --now edge-tts.socket       # also edge-tts-http.socket and edge-tts-wyoming.socket, as you like
  echo "Hello." | socat - UNIX-CONNECT:/run/edge-tts/text.sock > hello.wav"""

_NEXT_USER = """\
Next:
  systemctl --user daemon-reload
  systemctl --user enable --now edge-tts.socket
  echo "Hello." | socat - UNIX-CONNECT:$XDG_RUNTIME_DIR/edge-tts/text.sock > hello.wav"""


def _bundle(given: str | None) -> Path | None:
    """The bundle the service will find; none is no reason not to write units."""
    try:
        return bundle.find(given)
    except BundleError as error:
        if given:
            raise
        print(f"edge-tts: warning: {error}", file=sys.stderr)
        return None


def _size(path: Path | None) -> int:
    return 0 if path is None else sum(entry.size for entry in bundle.read_manifest(path).files)


def _out_of_reach(path: Path | None) -> list[str]:
    problems = []
    if units.hidden(Path(sys.executable)) or units.hidden(Path(__file__)):
        problems.append(
            f"{sys.executable} lies where a system service cannot see it; install into, for instance, /opt/edge-tts: "
            "python3 -m venv /opt/edge-tts && /opt/edge-tts/bin/pip install edge-tts-openvino"
        )
    if path is not None and units.hidden(path):
        problems.append(f"{path} lies where a system service cannot see it; copy it: cp -r {path} /var/lib/edge-tts/voices/")
    return problems


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ServiceError(f"{path}: {error.strerror}; write system units as root, or your own with --user") from None
    print(f"wrote {path}")
