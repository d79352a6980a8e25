"""List the voices of a bundle, or of every installed bundle.

examples:
  edge-tts voices
  edge-tts voices --bundle ./kokoro --json
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from edge_tts import bundle
from edge_tts.bundle import Manifest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", metavar="DIR", help="a bundle's directory, or the name of an installed one")
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")


def run(args: argparse.Namespace) -> int:
    paths = [bundle.find(args.bundle)] if args.bundle else bundle.installed() or [bundle.find(None)]
    manifests = {path: bundle.read_manifest(path) for path in paths}
    print(as_json(manifests) if args.json else as_table(manifests))
    return 0


def as_json(manifests: dict[Path, Manifest]) -> str:
    """`{"bundles": [{"path", "name", "family", "languages", "default_voices", "voices": [{"name", "language", …}]}]}`."""
    bundles = [
        {
            "path": str(path),
            "name": manifest.name,
            "family": manifest.family,
            "sample_rate": manifest.sample_rate,
            "languages": manifest.languages,
            "default_voices": manifest.default_voices,
            "voices": [asdict(voice) for voice in manifest.voices],
        }
        for path, manifest in manifests.items()
    ]
    return json.dumps({"bundles": bundles}, ensure_ascii=False, indent=1)


def as_table(manifests: dict[Path, Manifest]) -> str:
    """A line a voice under a line a bundle; a star marks the voice that is taken when none is named."""
    lines = []
    for path, manifest in manifests.items():
        lines.append(f"{path}  ({manifest.name}, {manifest.sample_rate} Hz, speaks {', '.join(manifest.languages)})")
        defaults = set(manifest.default_voices.values())
        width = max(len(voice.name) for voice in manifest.voices)
        for voice in manifest.voices:
            mark = "*" if voice.name in defaults else " "
            lines.append(f"{mark} {voice.name:{width}}  {voice.language:8} {voice.description:8} {voice.license}".rstrip())
    return "\n".join(lines)
