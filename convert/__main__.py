"""`python -m convert COMMAND`: each command is a module here with `add_arguments(parser)` and `run(args) -> int`."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys

from edge_tts.errors import EdgeTTSError

# command -> (module, its line in --help); a module is imported only when its command is called, so each needs its own extra only
COMMANDS = {
    "kokoro": ("convert.kokoro.command", "make the default voice: Kokoro-82M, English and Chinese"),
    "hibari": ("convert.hibari.command", "make the voice for the slowest boxes: hibari, 8 million parameters, English"),
    "piper": ("convert.piper.command", "make a voice of any Piper voice: VOICE.onnx and its configuration"),
    "cosyvoice": ("convert.cosyvoice.command", "make a voice of a CosyVoice-300M checkpoint: five languages, sampled speech"),
    "evaluate": ("convert.evaluate", "judge a voice against its float32 original"),
    "parity": ("convert.cosyvoice.parity", "compare a CosyVoice checkpoint's networks with golden outputs"),
}


def main(argv: list[str]) -> int:
    """Run `python -m convert ARGV`; returns the exit status."""
    args = _parse(argv)
    logging.basicConfig(level=logging.DEBUG if args.verbose else logging.WARNING, format="%(name)s: %(message)s")
    try:
        status: int = args.run(args)
        return status
    except KeyboardInterrupt:
        print("\ninterrupted; nothing was left behind", file=sys.stderr)
        return 130
    except EdgeTTSError as error:
        print(f"convert: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        print(f"convert: {error}; install what conversion needs with: pip install -e '.[convert]'", file=sys.stderr)
        return 69


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m convert", description=__import__("convert").__doc__)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    called = next((word for word in argv if not word.startswith("-")), None)
    for name, (module_name, line) in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=line, description=line, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        subparser.add_argument("-v", "--verbose", action="store_true", help="show what the tools log")
        if name == called:
            module = importlib.import_module(module_name)
            module.add_arguments(subparser)
            subparser.description = module.__doc__ or line
            subparser.set_defaults(run=module.run)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
