"""Show what will be spoken: reads text from standard input, line by line, and prints each line's normalised sentences.

Needs no voice. Use it to see why something was read as it was.

examples:
  echo '温度-5℃，涨了12.5%' | edge-tts normalize
  echo 'Dr. Lee paid $3.50.' | edge-tts normalize --json
"""

from __future__ import annotations

import argparse
import json
import sys

from edge_tts.text import frontend, lexicon


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `edge-tts normalize`."""
    parser.add_argument(
        "--lang", default="auto", choices=("auto", "zh", "en", "ja", "ko", "yue"), help="language of the text (default: auto)"
    )
    parser.add_argument("--lexicon", metavar="FILE", help="pronunciation lexicon, over the user's own")
    parser.add_argument("--json", action="store_true", help='one object a line: {"text": input, "sentences": [{"lang", "text"}]}')


def run(args: argparse.Namespace) -> int:
    """Normalise standard input; exit status 0."""
    language = None if args.lang == "auto" else args.lang
    words = lexicon.user_lexicon() | (lexicon.load(args.lexicon) if args.lexicon else lexicon.Lexicon())
    for line in sys.stdin.buffer:
        text, _ = frontend.decode(line)
        text = text.rstrip("\r\n")
        spoken = list(frontend.sentences(text, language=language, lexicon=words))
        if args.json:
            answer = {"text": text, "sentences": [{"lang": sentence.language, "text": sentence.text} for sentence in spoken]}
            print(json.dumps(answer, ensure_ascii=False))
        else:
            print(" ".join(sentence.text for sentence in spoken))
        sys.stdout.flush()
    return 0
