"""Text -> phonemes by espeak-ng, as Piper's voices were trained on them: one clause at a time, each with the mark that ends it.

espeak-ng is GPL-3.0-or-later and not part of this project: a shared library that the user installs, from the PyPI package
espeakng-loader (the extra `piper`) or the distribution's libespeak-ng, found and loaded at the first text.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from edge_tts.errors import BundleError, MissingExtraError

_LOCK = threading.Lock()  # the library keeps one voice, and its buffers, for the whole process
_AUDIO_OUTPUT_RETRIEVAL, _DONT_EXIT, _UTF8, _IPA = 1, 0x8000, 1, 0x02
# Words of another language stand between flags such as "(en)" and "(de)".
_LANGUAGE_FLAG = re.compile(r"\([^()]+\)")
_CLOSERS = r"\s\"'”’»)\]}」』》"
# The first of the marks that a clause ends with; the library has looked at one character beyond.
_END = re.compile(rf"([.。!！?？؟,，、،:：;；؛—])[.。!！?？؟,，、،:：;；؛…—{_CLOSERS}-]*\S?$")
_MARKS = str.maketrans("。！？؟，、،：；؛—", ".!??,,,:;;;")
_PAUSES, _STOPS = (",", ":", ";"), (".", "!", "?")


def sentences(text: str, voice: str) -> Iterator[list[str]]:
    """The phonemes of each sentence of the text, decomposed to single code points, with their punctuation.

    voice: espeak-ng's name of a language or accent, such as "en-us"
    Raises MissingExtraError without the library, BundleError for a voice that it does not have.
    """
    phonemes = ""
    for clause, mark in clauses(text, voice) if text.strip() else ():
        phonemes += (" " if phonemes and phonemes[-1] != " " else "") + clause + mark + (" " if mark in _PAUSES else "")
        if mark in _STOPS:
            yield list(unicodedata.normalize("NFD", phonemes))
            phonemes = ""
    if phonemes:
        yield list(unicodedata.normalize("NFD", phonemes))


def clauses(text: str, voice: str) -> list[tuple[str, str]]:
    """(IPA, mark) of each clause; the mark is one of ".,;:!?", or empty where the text just ends."""
    library = _library()
    encoded = text.replace("\0", " ").encode()
    found = []
    with _LOCK:
        if library.espeak_SetVoiceByName(voice.encode()):
            raise BundleError(f"espeak-ng has no voice {voice!r}, which this bundle's phonemes are those of")
        buffer = ctypes.create_string_buffer(encoded)
        start = ctypes.addressof(buffer)
        position = ctypes.c_void_p(start)
        while position.value:
            begin = position.value - start
            ipa = library.espeak_TextToPhonemes(ctypes.byref(position), _UTF8, _IPA) or b""
            end = position.value - start if position.value else len(encoded)
            clause = _LANGUAGE_FLAG.sub("", ipa.decode())
            consumed = encoded[begin:end].decode(errors="ignore")
            match = _END.search(consumed)
            found.append((clause, match[1].translate(_MARKS) if match else ""))
    return found


@lru_cache(maxsize=1)
def _library() -> Any:
    path, data = _installed()
    try:
        library = ctypes.CDLL(path)
    except OSError:
        raise MissingExtraError("espeak-ng, which reads text for Piper's voices,", "piper") from None
    library.espeak_Initialize.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
    library.espeak_SetVoiceByName.argtypes = [ctypes.c_char_p]
    library.espeak_TextToPhonemes.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_int]
    library.espeak_TextToPhonemes.restype = ctypes.c_char_p
    with _LOCK:
        if library.espeak_Initialize(_AUDIO_OUTPUT_RETRIEVAL, 0, data, _DONT_EXIT) < 0:
            raise MissingExtraError(f"the data of espeak-ng ({path})", "piper")
    return library


def _installed() -> tuple[str, bytes | None]:
    """Path of the library, and of its data if they lie together: the package's if it is there, else the distribution's."""
    spec = importlib.util.find_spec("espeakng_loader")
    if spec is not None and spec.submodule_search_locations:
        package = Path(spec.submodule_search_locations[0])
        library = package / "libespeak-ng.so"
        if library.is_file():
            return str(library), str(package / "espeak-ng-data").encode()
    return "libespeak-ng.so.1", None
