"""Show the phonemes that a Kokoro voice will be given: reads text from standard input, line by line, and prints each sentence's.

The dictionaries are those of a voice bundle, by default the first installed one that has them. A voice reads English words that
are in no dictionary with its own network; here they are shown between question marks.

examples:
  echo '他还没还钱' | edge-tts phonemes
  echo '{重庆|chóng qìng}在哪里' | edge-tts phonemes --json
  echo 'Nguyen speaks' | edge-tts phonemes --lexicon my-lexicon.txt
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from edge_tts import bundle
from edge_tts.text import frontend, lexicon
from edge_tts.text.phonemes import CHINESE_TABLE, ENGLISH_TABLE, Phonemizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `edge-tts phonemes`."""
    parser.add_argument(
        "--lang", default="auto", choices=("auto", "zh", "en", "ja", "ko", "yue"), help="language of the text (default: auto)"
    )
    parser.add_argument("--bundle", metavar="NAME|DIR", help="voice bundle whose dictionaries read the text")
    parser.add_argument("--lexicon", metavar="FILE", help="pronunciation lexicon, over the user's own")
    parser.add_argument("--british", action="store_true", help="British English")
    parser.add_argument("--json", action="store_true", help='a line each: {"text", "sentences": [{"lang", "text", "phonemes"}]}')


def run(args: argparse.Namespace) -> int:
    """Phonemes of standard input; exit status 0."""
    language = None if args.lang == "auto" else args.lang
    words = lexicon.user_lexicon() | (lexicon.load(args.lexicon) if args.lexicon else lexicon.Lexicon())
    voice = bundle.open_bundle(_with_dictionaries(args.bundle), verify=False)
    chinese = voice.file(CHINESE_TABLE) if _has(voice.manifest, CHINESE_TABLE) else None
    phonemizer = Phonemizer(lambda word, british: f"?{word}?", voice.file(ENGLISH_TABLE), chinese)
    for line in sys.stdin.buffer:
        text = frontend.decode(line)[0].rstrip("\r\n")
        spoken = []
        for sentence in frontend.sentences(text, language=language, lexicon=words):
            phonemes = phonemizer(sentence.text, british=args.british, readings=sentence.readings)
            spoken.append({"lang": sentence.language, "text": sentence.text, "phonemes": phonemes})
        if args.json:
            print(json.dumps({"text": text, "sentences": spoken}, ensure_ascii=False))
        else:
            print(" ".join(sentence["phonemes"] for sentence in spoken))
        sys.stdout.flush()
    return 0


def _with_dictionaries(name: str | None) -> Path:
    """The bundle that is named, else of the installed ones the first that has both dictionaries, or one, else the first."""
    if name is None:
        manifests = {path: bundle.read_manifest(path) for path in bundle.installed()}
        for table in (CHINESE_TABLE, ENGLISH_TABLE):
            for path, manifest in manifests.items():
                if _has(manifest, table):
                    return path
    return bundle.find(name)


def _has(manifest: bundle.Manifest, table: str) -> bool:
    return any(entry.path == table for entry in manifest.files)
