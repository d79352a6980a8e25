"""Print the configuration that is in force: the defaults, changed by the configuration file, changed by the options given.

The output is a complete configuration file, so `edge-tts config > config.toml` is a way to begin one.
"""

from __future__ import annotations

import argparse
import sys

from edge_tts import config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    config.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    path = config.find(args.config)
    settings = config.from_arguments(args)
    sys.stdout.write(f"# {'from ' + str(path) if path else 'no configuration file: these are the defaults'}\n")
    sys.stdout.write(config.to_toml(settings))
    return 0
