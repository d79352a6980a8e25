"""Speak text into a file, a pipe or the loudspeaker.

The text is the argument, or standard input. The audio goes to -o FILE (its ending names the format), to standard output when
that is a pipe, or to the loudspeaker with --play.

examples:
  edge-tts say "Good morning." -o morning.wav
  edge-tts say "你好，世界。" --voice zf_xiaoxiao | aplay
  edge-tts say --play < article.txt
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from edge_tts import audio, bundle
from edge_tts.audio import AudioChunk
from edge_tts.errors import OptionError, ServiceError
from edge_tts.synthesizer import SpeechOptions, Voice, load_voice
from edge_tts.text import frontend, lexicon

log = logging.getLogger(__name__)

# Players of raw PCM, in order of preference, with their arguments for a rate.
_PLAYERS = {
    "aplay": ("aplay", "-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", "{rate}"),
    "paplay": ("paplay", "--raw", "--format=s16le", "--channels=1", "--rate={rate}"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", metavar="TEXT", help="what to say; standard input without it")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the audio goes; - is standard output")
    parser.add_argument("--play", action="store_true", help="play it with aplay or paplay")
    parser.add_argument("--voice", metavar="NAME", help="one of `edge-tts voices`; by default one for the text's language")
    parser.add_argument("--speed", type=float, default=1.0, metavar="S", help="0.5 (slow) to 2.0 (fast)")
    parser.add_argument("--lang", metavar="TAG", help="the text's language (en, zh, …); by default it is found out")
    parser.add_argument("--lexicon", metavar="FILE", help="pronunciation lexicon, over the bundle's and your own")
    parser.add_argument("--seed", type=int, help="makes sampled speech repeatable")
    parser.add_argument("--format", choices=sorted(audio.MEDIA_TYPES), help="audio format (default: the file's ending, else wav)")
    parser.add_argument("--bundle", metavar="DIR", help="a bundle's directory, or the name of an installed one")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="CPU threads (default: all)")


def run(args: argparse.Namespace) -> int:
    check_destination(args)
    audio_format = chosen_format(args)
    path = bundle.find(args.bundle)
    text = args.text if args.text is not None else _standard_input()
    words = lexicon.load(args.lexicon) if args.lexicon else None
    started = time.perf_counter()
    voice = load_voice(path, threads=args.threads)
    loaded = time.perf_counter()
    options = SpeechOptions(args.voice, args.speed, args.lang, args.seed, words)
    with voice.utterance(text, options) as utterance:
        chunks = TimedChunks(utterance, loaded)
        if args.play:
            play(chunks, voice.sample_rate)
        elif args.output in (None, "-"):
            write_stream(sys.stdout.buffer, chunks, voice.sample_rate, audio_format)
        else:
            write_file(Path(args.output), chunks, voice.sample_rate, audio_format)
    if args.verbose:
        print(summary(chunks, voice, loaded - started), file=sys.stderr)
    return 0


def check_destination(args: argparse.Namespace) -> None:
    """OptionError when the audio would go nowhere useful, before any work is done."""
    if args.play and args.output:
        raise OptionError("--play and --output exclude each other; name one of them")
    if not args.play and args.output is None and sys.stdout.isatty():
        raise OptionError("audio is not written to a terminal: give -o FILE, pipe into a player, or --play")
    if args.output in (None, "-"):
        return
    if os.path.isdir(args.output):
        raise OptionError(f"{args.output} is a directory; name a file")
    if not os.path.isdir(Path(args.output).absolute().parent):
        raise OptionError(f"{args.output}: its directory does not exist; make it first")


def chosen_format(args: argparse.Namespace) -> str:
    """The named format, else the one of the output's ending, else wav."""
    if args.format:
        return str(args.format)
    ending = Path(args.output or "").suffix.lstrip(".").lower()
    return ending if ending in audio.MEDIA_TYPES else "wav"


class TimedChunks:
    """Chunks passed on as they come, with the times that --verbose reports."""

    def __init__(self, chunks: Iterable[AudioChunk], started: float) -> None:
        self._chunks = chunks
        self._started = started
        self.first_audio_s = 0.0
        self.compute_s = 0.0
        self.audio_s = 0.0

    def __iter__(self) -> Iterator[AudioChunk]:
        before = self._started
        for chunk in self._chunks:
            now = time.perf_counter()
            self.compute_s += now - before
            self.first_audio_s = self.first_audio_s or now - self._started
            self.audio_s += chunk.duration_s
            yield chunk
            before = time.perf_counter()


def summary(chunks: TimedChunks, voice: Voice, load_s: float) -> str:
    """One line of figures: load time, first audio, real-time factor."""
    if not chunks.audio_s:
        return f"{voice.bundle.path.name}: nothing to say (load {load_s:.2f} s)"
    return (
        f"{voice.bundle.path.name}: load {load_s:.2f} s, first audio {chunks.first_audio_s:.2f} s, "
        f"{chunks.audio_s:.2f} s of audio in {chunks.compute_s:.2f} s, RTF {chunks.compute_s / chunks.audio_s:.3f}"
    )


def write_stream(out: IO[bytes], chunks: Iterable[AudioChunk], sample_rate: int, audio_format: str) -> None:
    """Write to a pipe, each piece as soon as it is ready."""
    for data in audio.stream(chunks, sample_rate, audio_format):
        out.write(data)
        out.flush()


def write_file(path: Path, chunks: Iterable[AudioChunk], sample_rate: int, audio_format: str) -> None:
    """Write a file with true lengths in its header; an interrupted or failed request leaves no file behind."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        data = audio.encode(audio.concatenate(chunks, sample_rate), sample_rate, audio_format)
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        raise ServiceError(f"{path}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def play(chunks: Iterable[AudioChunk], sample_rate: int) -> None:
    """Play through aplay or paplay, whichever is installed."""
    with _player(sample_rate) as pipe:
        write_stream(pipe, chunks, sample_rate, "pcm")


@contextmanager
def _player(sample_rate: int) -> Iterator[IO[bytes]]:
    name = next((name for name in _PLAYERS if shutil.which(name)), None)
    if name is None:
        raise ServiceError("no player found: install aplay (Debian: alsa-utils) or paplay (pulseaudio-utils), or use -o FILE")
    command = [part.format(rate=sample_rate) for part in _PLAYERS[name]]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.stdin is not None
    try:
        with suppress(BrokenPipeError):  # a player that ends early says why by its status
            yield process.stdin
        with suppress(BrokenPipeError):
            process.stdin.close()
        status = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    if status:
        raise ServiceError(f"{name} ended with status {status}; try -o FILE")


def _standard_input() -> str:
    if sys.stdin.isatty():
        print("edge-tts: reading text from the terminal; end it with Ctrl-D", file=sys.stderr)
    text, n_invalid = frontend.decode(sys.stdin.buffer.read())
    if n_invalid:
        log.warning("the text is not all UTF-8: %d invalid sequences were replaced", n_invalid)
    return text
