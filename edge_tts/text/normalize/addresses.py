"""URLs, e-mail and IP addresses, file names and paths, read sign by sign; words in them as words where they can be said."""

from __future__ import annotations

import re
from collections.abc import Callable

from edge_tts.text.normalize import chinese_numbers, english_numbers
from edge_tts.text.normalize.latin import address_word
from edge_tts.text.normalize.rules import Rule, rule

_SIGNS = {
    "en": {
        ".": "dot", "/": "slash", ":": "colon", "@": "at", "-": "dash", "_": "underscore", "?": "question mark", "=": "equals", "&": "and", "#": "hash",
        "%": "percent", "+": "plus", "~": "tilde", "\\": "backslash", ",": "comma", "!": "exclamation mark", "*": "star", "$": "dollar", ";": "semicolon",
    },
    "zh": {
        ".": "点", "/": "斜杠", ":": "冒号", "@": "艾特", "-": "杠", "_": "下划线", "?": "问号", "=": "等于", "&": "和", "#": "井号",
        "%": "百分号", "+": "加", "~": "波浪号", "\\": "反斜杠", ",": "逗号", "!": "感叹号", "*": "星号", "$": "美元符", ";": "分号",
    },
}  # fmt: skip

_TLD = "com|cn|net|org|io|gov|edu|info|co|me|tv|app|dev|ai|hk|tw|jp|kr|uk|us|de|fr|ru|eu|xyz|top|cc|club|shop|vip|wiki|tech|online|site|blog|mil|int|biz|au|ca|in|ch|nl|it|es|br|sg"
_FILE = "txt|md|pdf|docx?|pptx?|xlsx?|csv|tsv|json|ya?ml|toml|xml|html?|css|scss|jsx?|tsx?|vue|py|ipynb|java|kt|go|rs|cpp|cc|hpp|cs|rb|php|sh|bat|ps1|sql|ini|cfg|conf|log|lock|exe|dll|so|apk|dmg|iso|zip|rar|tar|gz|tgz|7z|jpe?g|png|gif|svg|bmp|webp|ico|psd|mp[34]|wav|flac|ogg|m4a|avi|mkv|mov|webm|srt|ttf|onnx|pth?|bin|safetensors|gguf|db|env|tmp|bak"
_TOKEN = re.compile(r"[A-Za-z]+|\d+|[^A-Za-z\d]", re.ASCII)
_TAIL = re.compile(r"[.,;:!?)\]}'\"]{1,40}$")


def rules(language: str) -> list[Rule]:
    """The rules for addresses inside text of a language that has its own words for the signs ("en", "zh")."""

    def say(match: re.Match[str]) -> str:
        return _with_tail(match.group(), lambda address: _say(address, language))

    def say_ip(match: re.Match[str]) -> str:
        return _say_ip(match, language)

    return [
        rule(r"(?<![A-Za-z0-9])(?:https?|ftp|wss?|file|ssh|git|rtsp|magnet)://[!-~]{1,2000}", say, re.IGNORECASE),
        rule(r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,6}[A-Za-z]{2,24}(?![A-Za-z0-9])", say),
        rule(r"(?<![\d.])((?:25[0-5]|2[0-4]\d|1?\d{1,2})(?:\.(?:25[0-5]|2[0-4]\d|1?\d{1,2})){3})(?:([:/])(\d{1,5}))?(?!\.?\d)", say_ip),
        rule(rf"(?<![\w@.-])www\.[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{0,5}}(?:/[!-~]{{0,500}})?|(?<![\w@.-])(?:[A-Za-z0-9][A-Za-z0-9-]{{0,62}}\.){{1,5}}(?:{_TLD})(?![\w-])(?!\.[A-Za-z0-9])(?::\d{{1,5}})?(?:/[!-~]{{0,500}})?", say),
        rule(r"(?<![\w\\])[A-Za-z]:\\[!-~]{1,300}", say),
        rule(r"(?<![\w./~<])(?:~|\.{1,2})?(?:/[\w.@+-]{1,80}){2,30}/?|(?<![\w./])(?:~|\.{1,2})/[\w.@+-]{1,80}(?:/[\w.@+-]{1,80}){0,30}", say),
        rule(rf"(?<![\w./-])[\w-]{{1,60}}(?:[./][\w-]{{1,60}}){{0,12}}\.(?:{_FILE})(?![\w-])(?!\.\w)", say, re.IGNORECASE),
        rule(r"(?<![A-Za-z0-9])(?:localhost)(?::\d{1,5})?(?:/[!-~]{0,200})?", say),
    ]


def _with_tail(text: str, say: Callable[[str], str]) -> str:
    """Punctuation at the end of an address belongs to the sentence."""
    tail = _TAIL.search(text)
    end = tail.start() if tail else len(text)
    return f" {say(text[:end])} {text[end:]}" if end else text


def _say(address: str, language: str) -> str:
    signs = _SIGNS[language]
    words: list[str] = []
    for token in _TOKEN.findall(address):
        if token.isdigit():
            words.append(_say_digits(token, language, port=bool(words) and words[-1] == signs[":"]))
        elif token.isalpha() and token.isascii():
            words.append(address_word(token))
        else:
            words.append(signs.get(token, ""))
    return _joined(words, language)


def _say_digits(text: str, language: str, *, port: bool = False) -> str:
    if language == "zh":
        return chinese_numbers.digits(text) if len(text) > 2 or text[0] == "0" else chinese_numbers.cardinal(text)
    if (text[0] == "0" and len(text) > 1) or len(text) > (4 if port else 3):
        return english_numbers.digits(text)
    return english_numbers.cardinal(text)


def _say_ip(match: re.Match[str], language: str) -> str:
    address, sign, port = match.groups()
    say = chinese_numbers.digits if language == "zh" else english_numbers.digits
    words = []
    for part in address.split("."):
        words += [say(part), _SIGNS[language]["."]]
    words.pop()
    if port:
        words += [_SIGNS[language][sign], _say_digits(port, language, port=True)]
    return _joined(words, language)


def _joined(words: list[str], language: str) -> str:
    text = " ".join(word for word in words if word)
    return re.sub(r"(?<=[^\x00-\x7f]) | (?=[^\x00-\x7f])", "", text) if language == "zh" else text
