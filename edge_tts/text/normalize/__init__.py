"""Fourth step: numbers, signs, units and short forms -> the words a reader says.

Each language's module loads with its first sentence. What comes out holds letters, spaces and pause marks only; if the rules
left a text nothing to say although it holds letters or digits, those are said one by one, so that nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from edge_tts.text.language import HAN, KANA, LATIN
from edge_tts.text.normalize import punctuation
from edge_tts.text.patterns import LazyPattern, WidePattern

# English inside Chinese: a stretch with no Han, of at least three words that have a lower-case letter.
_NO_HAN = LazyPattern(f"[^{HAN}{KANA}]+")
_WORD = re.compile(f"(?<![^\\s“\"'(（，。！？：；、,])(?:[{LATIN}][a-z'’]*[a-z]|I|a)(?![^\\s”\"')）,.!?:;，。！？：；、…—-]"
                   "|[.:]\\S)")
_ENGLISH_WORDS = 4
_FUNCTION_WORD = re.compile(r"\b(?:the|is|are|was|were|am|of|and|to|in|on|at|for|with|you|he|she|we|they|my|your|his|have"
                            r"|has|had|do|does|did|will|would|can|not|this|that|it|be|so|but|a|i|about|by|from)\b", re.IGNORECASE)
# Chinese inside English: Han with the digits and signs that touch it.
_HAN_STRETCH = WidePattern(f"[{HAN}](?:[^A-Za-z\\s]{{0,60}}[{HAN}，。！？]|[{HAN}])*")
_PASSES = 3
LANGUAGES = ("en", "zh", "yue", "ja", "ko")
_SPEAKABLE = re.compile(r"[^\W_]")


def normalize(text: str, language: str) -> str:
    """The text as it is read aloud in its main language; stretches in another script after that script's rules.

    A language not among LANGUAGES is read by the rules of English.
    Normalising what comes out again changes nothing that is spoken: what a pass leaves for another is read at once.
    """
    spoken = _once(text, language)
    for _ in range(_PASSES):
        again = _once(spoken, language)
        if again == spoken:
            break
        spoken = again
    return spoken


def _once(text: str, language: str) -> str:
    spoken = "".join(_run(run, run_language) for run, run_language in runs(text, language))
    spoken = punctuation.plain(spoken, language)
    if not _SPEAKABLE.search(spoken) and _SPEAKABLE.search(text):
        spoken = punctuation.plain(" ".join(_SPEAKABLE.findall(text)), language)
    return spoken


def runs(text: str, language: str) -> list[tuple[str, str]]:
    """The text as (stretch, language), so that digits are read in the language of the words around them."""
    if language in ("zh", "yue"):
        return _split(text, _NO_HAN, "en", language, _is_english)
    if language == "en":
        return _split(text, _HAN_STRETCH, "zh", language, lambda stretch: True)
    return [(text, language)]


def _split(
    text: str, pattern: LazyPattern, inner: str, outer: str, accepts: Callable[[str], bool]
) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    start = 0
    for match in pattern.finditer(text):
        if not accepts(match.group()):
            continue
        if match.start() > start:
            found.append((text[start : match.start()], outer))
        found.append((match.group(), inner))
        start = match.end()
    if start < len(text):
        found.append((text[start:], outer))
    return found


def _is_english(stretch: str) -> bool:
    words = _WORD.findall(stretch)
    return len(words) >= _ENGLISH_WORDS or (len(words) >= 2 and _FUNCTION_WORD.search(stretch) is not None)


def _run(text: str, language: str) -> str:
    if language in ("zh", "yue"):
        from edge_tts.text.normalize import chinese

        return chinese.normalize(text, cantonese=language == "yue")
    if language == "ja":
        from edge_tts.text.normalize import japanese

        return japanese.normalize(text)
    if language == "ko":
        from edge_tts.text.normalize import korean

        return korean.normalize(text)
    from edge_tts.text.normalize import english

    return english.normalize(text)
