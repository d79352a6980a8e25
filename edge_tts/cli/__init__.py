"""The command line: parse -> build -> run. Each subcommand is a module here with `add_arguments(parser)` and `run(args) -> int`.

Only here and in those modules is anything printed, logging set up, or an exit status chosen.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import signal
import sys
from collections.abc import Collection, Sequence

from edge_tts import __version__
from edge_tts.errors import (
    BundleError,
    BusyError,
    EdgeTTSError,
    MissingExtraError,
    RequestError,
    ServiceError,
)

# subcommand -> its line in --help; its module is imported only when it is called
COMMANDS = {
    "say": "speak text into a file, a pipe or the loudspeaker",
    "voices": "list the voices that are installed",
    "bundle": "add, list and remove voice bundles",
    "normalize": "show what will be spoken for a text",
    "phonemes": "show what a Kokoro voice will be given for a text",
    "serve": "speak for other programs, through a socket",
    "status": "show how a running service is doing",
    "config": "print the service's configuration",
    "bench": "measure speed and memory on this machine",
    "install-unit": "install the systemd units",
    "doctor": "check this machine, the voices and the service",
}

# Exit statuses, after sysexits.h where it has one.
EXIT_OK, EXIT_FAILURE, EXIT_USAGE = 0, 1, 2
EXIT_BUNDLE, EXIT_UNAVAILABLE, EXIT_BUSY = 66, 69, 75

EPILOG = """\
exit status: 0 done; 2 wrong usage, voice or option; 66 no usable voice bundle; 69 a service or an optional part is not
available; 75 busy, try again; 130 interrupted; 1 anything else
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `edge-tts ARGV`; returns the exit status."""
    args = _parse(sys.argv[1:] if argv is None else list(argv))
    logging.basicConfig(
        level=[logging.WARNING, logging.INFO, logging.DEBUG][min(args.verbose, 2)],
        format="%(name)s: %(message)s",
        stream=sys.stderr,
    )
    try:
        status: int = args.run(args)
        return status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader has left; nothing more can be written, not even by the interpreter's own flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except EdgeTTSError as error:
        print(f"edge-tts: {error}", file=sys.stderr)
        return exit_status(error)


def exit_status(error: EdgeTTSError) -> int:
    """The exit status that tells a script what went wrong."""
    for kind, status in (
        (BundleError, EXIT_BUNDLE),
        (BusyError, EXIT_BUSY),
        (RequestError, EXIT_USAGE),
        ((ServiceError, MissingExtraError), EXIT_UNAVAILABLE),
    ):
        if isinstance(error, kind):
            return status
    return EXIT_FAILURE


def _parse(argv: list[str]) -> argparse.Namespace:
    called = next((word for word in argv if not word.startswith("-")), "")
    return parser([called]).parse_args(argv)


def parser(described: Collection[str]) -> argparse.ArgumentParser:
    """The parser of the command line; only the subcommands `described` are imported and know their arguments."""
    top = argparse.ArgumentParser(
        prog="edge-tts",
        description="Offline text-to-speech on OpenVINO.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"edge-tts-openvino {__version__}")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, line in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=line, description=line, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        subparser.add_argument("-v", "--verbose", action="count", default=0, help="say more; twice for everything")
        if name in described:
            module = importlib.import_module(f"edge_tts.cli.{name.replace('-', '_')}")
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run)
            if module.__doc__:
                subparser.description = module.__doc__
    return top
