"""Which language a piece of text is in, told by its script and a few tell-tale characters; no model, no library."""

from __future__ import annotations

import re

from edge_tts.text.patterns import WidePattern

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f々〇"
KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HANGUL = "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e"
LATIN = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"

_HAN = WidePattern(f"[{HAN}]")
_KANA = WidePattern(f"[{KANA}]")
_HANGUL = WidePattern(f"[{HANGUL}]")
# Not single letters, nor those of addresses, file names and models: they stand in any language.
_LATIN_WORD = re.compile(f"(?<![{LATIN}0-9@./_+-])(?:[{LATIN}][{LATIN}'’]+|I)(?![{LATIN}0-9@/_]|[.:][{LATIN}0-9/]|-[0-9])")
_LATIN_LETTER = re.compile(f"[{LATIN}]")
_FULL_WIDTH = re.compile("[，。！？：；、]")

# Written in Cantonese, not in Mandarin (both scripts).
_CANTONESE = WidePattern("[嘅喺咗哋冇嚟嗰唔佢啲乜嘢咁睇攞俾瞓攰嘥乸咩噉搵諗谂冧嗮嘞啱嘈氹揸㗎喎掟]|邊度|边度|點解|点解|食飯"
                        "|琴日|聽日")
# Simplified only in Japan, or words that neither Chinese script writes so.
_JAPANESE = WidePattern(
    "[々気円駅図発働込畑峠売読転辺歩団薬浜県沢実済検険験戻勧黙渋経続絵総緑縁竜鉄銭関雑霊顔齢亜仮価児処労効勅単営壊変専巣帰"
    "徴恵悪悩]"
    "|^大丈夫(?:、|。|$)|無料|有料|料金|勉強|切符|彼女|日本語|名前|予約|部屋|弁当|値段|荷物"
)
# What Japanese and Chinese share is no sign of Japanese: simplified or traditional forms among these say Chinese.
_CHINESE_ONLY = WidePattern("[们这么说对时间问没还让给几个从东车马门见贝页风飞鱼鸟龙們這麼對時還讓給個從說嗎呢吧啊您她它]")


def main_language(text: str) -> str:
    """The primary subtag of the language that most of the text is in: "en", "zh", "yue", "ja" or "ko"."""
    han, kana, hangul = (len(script.findall(text)) for script in (_HAN, _KANA, _HANGUL))
    words = len(_LATIN_WORD.findall(text))
    if hangul and hangul >= han and 3 * hangul >= words:
        return "ko"
    if kana and 8 * kana >= han and 2 * (kana + han) >= words:
        return "ja"
    if han and han >= words:
        return _han_language(text)
    return "zh" if not words and _FULL_WIDTH.search(text) else "en"


def _han_language(text: str) -> str:
    if _CANTONESE.search(text):
        return "yue"
    if _JAPANESE.search(text) and not _CHINESE_ONLY.search(text):
        return "ja"
    return "zh"


def has_letters(text: str) -> bool:
    """Whether the text tells its language at all."""
    return any(script.search(text) for script in (_HAN, _KANA, _HANGUL, _LATIN_LETTER))
