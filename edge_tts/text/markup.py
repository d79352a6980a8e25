"""Second step: what marks text up is taken away; what it marks is kept.

Markdown, HTML, SSML, LaTeX, control tags and special tokens of speech models, emoji, emoticons: none is spoken, none obeyed.
Two inline forms are obeyed, because they say how one word is read (`lexicon` tells how): `{重庆|chóng qìng}` and `<chang2>`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

# LaTeX command -> the character that the rules read, or nothing. `clean` must not take these for escapes.
LATEX_COMMANDS = {
    "times": "×", "cdot": "×", "div": "÷", "pm": "±", "mp": "∓", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "lt": "<",
    "gt": ">",
    "ne": "≠", "neq": "≠", "approx": "≈", "equiv": "≡", "sim": "~", "infty": "∞", "sqrt": "√", "sum": "∑", "prod": "∏",
    "int": "∫",
    "partial": "∂", "nabla": "∇", "in": "∈", "notin": "∉", "subset": "⊂", "cup": "∪", "cap": "∩", "to": "→", "rightarrow": "→",
    "Rightarrow": "⇒", "leftarrow": "←", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ",
    "eta": "η", "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ",
    "sigma": "σ", "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Theta": "Θ", "Lambda": "Λ", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "circ": "°", "degree": "°", "percent": "%",
    "ldots": "…", "cdots": "…", "dots": "…", "quad": " ", "qquad": " ", "left": "", "right": "", "text": "", "textbf": "",
    "textit": "",
    "mathrm": "", "mathbf": "", "mathit": "", "mathbb": "", "mathcal": "", "operatorname": "", "displaystyle": "", "limits": "",
    "big": "", "Big": "", "bigl": "", "bigr": "", "begin": "", "end": "", "frac": "", "dfrac": "", "tfrac": "",
    "sin": "sin", "cos": "cos", "tan": "tan", "log": "log", "ln": "ln", "lim": "lim", "max": "max", "min": "min",
}  # fmt: skip

_SPECIAL_TOKEN = re.compile(r"<\|[^|<>\n]{0,64}\|>|</?s>|<(?:pad|unk|bos|eos|mask)>|\[/?INST\]|<</?SYS>>")
# Tags that speech models define for laughter, pauses and speakers.
_CONTROL_TAG = re.compile(
    r"\[/?(?:uv_break|v_break|lbreak|laugh(?:ter|ing|s)?|breath|quick_breath|sighs?|coughs?|noise|music|silence|pause"
    r"|speaker\d?|spk\d?|S\d"
    r"|gasps?|hissing|lipsmack|mn|vocalized-noise|clucking|accent|(?:oral|break|speed|speech)_\d|(?:short|long)_pause"
    r"|\d{1,5} ?ms)\]",
    re.IGNORECASE,
)
_PINYIN = re.compile(r"<([a-zü]{1,6}[1-5])>")
_INLINE = re.compile(r"\{([^{}|\n]{1,40})\|([^{}|\n]{1,120})\}")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<!\[CDATA\[|\]\]>|<\?[a-z][^<>]{0,300}\?>", re.DOTALL)
_DOCTYPE = re.compile(r"<![A-Z][^<>\[]{0,200}(?:\[[^\]]{0,2000}\]\s{0,20})?>")
_HIDDEN_BODY = re.compile(r"<(script|style)\b[^<>]{0,300}>.*?(?:</\1\s{0,9}>|\Z)", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = r"""(?:\s{1,20}[A-Za-z_:@][\w:.-]{0,60}(?:\s{0,5}=\s{0,5}(?:"[^"<>]{0,500}"|'[^'<>]{0,500}'|[^\s"'<>=]{1,300})))"""
_TAG = re.compile(
    rf"</?([A-Za-z][\w:-]{{0,40}})(?:{_ATTRIBUTE}|\s{{1,20}}(?:disabled|checked|hidden|async|defer|controls|required|open"
    rf"|selected)\b){{0,40}}\s{{0,20}}/?>",
    re.ASCII,
)
# Tags at which a reader pauses; others (b, em, span) stand inside words.
_PAUSE_TAGS = frozenset("p br hr div li ul ol td th tr table h1 h2 h3 h4 h5 h6 blockquote section article pre option break "
                        "s header footer dt dd".split())
_PAUSE_LINE_TAGS = _PAUSE_TAGS - {"td", "th", "break", "s", "option"}
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30}|[a-z]);")

_DATA_URI = re.compile(r"\bdata:[\w.+-]{1,40}/[\w.+-]{1,60}(?:;[\w=.-]{1,40}){0,4},[A-Za-z0-9+/=%_-]*", re.ASCII)
_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})[^\n`]{0,60}$", re.MULTILINE)
_RULE = re.compile(r"^ {0,3}(?:(?:\* ?){3,}|(?:- ?){3,}|(?:_ ?){3,}|=(?: ?=){2,})$", re.MULTILINE)
_TABLE_RULE = re.compile(r"^ {0,3}\|?(?: ?:?-{1,99}:? ?\|){1,50}(?: ?:?-{1,99}:?)? ?$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^ {0,3}\|(.{1,2000})\| ?$", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6} {1,4}([^\n]*?)(?: {1,4}#{1,6})? ?$", re.MULTILINE)
_QUOTE = re.compile(r"^ {0,3}(?:> ?){1,10}", re.MULTILINE)
_BULLET = re.compile(r"^ {0,12}(?:[-*+•‣▪●○◦■□◆◇★☆►▶➤·] {1,4}|[•‣▪●○◦■□◆◇★☆►▶➤])(?:\[[ xX]\] )?", re.MULTILINE)
_NUMBERED = re.compile(r"^( {0,12})(\d{1,3})(?:[.)]\s|、|．)\s{0,4}(?=\S)", re.MULTILINE)
_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\](?:\((?:[^()\s]{0,600}(?:\([^()\s]{0,100}\))?[^()\s]{0,100})(?: "
                            r"[\"'][^\"'\n]{0,200}[\"'])?\)|\[[^\[\]\n]{0,60}\])")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\n]{1,40}\]:?|^ {0,3}\[[^\[\]\n]{1,60}\]: \S{1,600}.{0,200}$", re.MULTILINE)
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)?[^\s<>]{1,500}[.@][^\s<>]{1,500})>")
_CODE = re.compile(r"`{1,3}([^`\n]{0,500})`{1,3}")
_STRIKE = re.compile(r"~~([^~\n]{1,500})~~|==([^=\n]{1,500})==(?!=)")
_TIMES = re.compile(r"(?<=\d) ?\* ?(?=[\d(])|(?<=[\w)]) \* (?=[\w(])|(?<=\b[A-Za-z])\*(?=[A-Za-z]\b)")
_POWER = re.compile(r"(?<=[\w)])\*\*(?=\d)")
_EMPHASIS_UNDERSCORES = re.compile(r"(?<![A-Za-z0-9_.])_{1,3}(?=\S)|(?<=[^\s_])_{1,3}(?![A-Za-z0-9_.])")
_BACKSLASHED = re.compile(r"\\([!-/:-@\[-`{-~])")

_MATH = re.compile(r"\$\$([^$]{1,1000})\$\$|\$(?![\s\d])([^$\n]{1,300})(?<!\s)\$(?!\d)"
                   r"|\$(\d[^$\n]{0,200}[\\^_=+][^$\n]{0,200})(?<!\s)\$(?!\d)")
_MATH_BRACKETS = re.compile(r"\\[\[(]([^\n]{1,500}?)\\[\])]")
_FRACTION = re.compile(r"\\[dt]?frac\s?\{([^{}]{1,80})\}\s?\{([^{}]{1,80})\}")
_ROOT = re.compile(r"\\sqrt\s?\{([^{}]{1,80})\}")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\{[a-z*]{1,20}\}")
_COMMAND = re.compile(r"\\([A-Za-z]{1,20})")
_LATEX_GROUP = re.compile(r"([\^_])\{([^{}]{1,40})\}")

_EMOJI = re.compile(
    "[\U0001f000-\U0001f0ff\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\U0001f200-\U0001f2ff\u2300-\u23ff\u2600-\u27bf\u2b00-"
    "\u2bff\u2800-\u28ff"
    "\U000e0000-\U000e007f\u3030\u303d\u2122\u2139\u231a\u25aa-\u25fe\u2500-\u259f]+"
)  # fmt: skip
_FACE = re.compile(r"[╮╭╯ヽ\\ԅ┗Σ٩ლ]?[(（]([^()（）\n]{3,16})[)）](?:[╮╭╯ノﾉゞ┛~|゜︵━┻و✧ง۶ლ彡☆]|／|/(?![\w]))*")
_FACE_EYES = re.compile(r"[ω□◕‿∀Д≧≦╥﹏￣︶ᴗ⊙﹃◠◡益皿≖▽´◉ಠ°•\u0300ᵕ˘๑❛╹]|[\^＾].*[\^＾]"
                        r"|[TtoO@=><;^~.*QxX-][_.＿][TtoO@=><;^~.*QxX-]")
_FACE_EDGES = set("oOTxXQ๑٩")
_EMOTICON = re.compile(
    r"(?<![^\s一-鿿，。！？,.!?])(?:[:;=][-'^]?[)(DPpOo3|/\\*]|[:;]-?\)+|[xX]D+|T[_.]T|Q[_A]Q|\^[_.]?\^|>[_.]<|-_-|o_O|O_o"
    r"|<3|:'\()(?![^\s一-鿿，。！？,.!?])"
)
_ANGLE_TEXT = re.compile(r"<([^<>\n=]{1,100})>")


def strip(text: str, inline: Callable[[str, str], str]) -> str:
    """The text without its markup.

    inline: called with the word and the reading of each inline form, returns what stands in the text for it; the word is
        "" for `<chang2>`, which has none
    """
    if "<" in text or "[" in text:
        text = _SPECIAL_TOKEN.sub(" ", text)
        text = _CONTROL_TAG.sub(" ", text)
    if "$" in text or "\\" in text:
        text = _strip_latex(text)
    if "{" in text:
        text = _INLINE.sub(lambda m: inline(m[1].strip(), m[2].strip()), text)
    if "data:" in text:
        text = _DATA_URI.sub(" ", text)
    text = _strip_html(text, inline)
    text = _strip_markdown(text)
    return text if text.isascii() else _EMOJI.sub(" ", text)


def _strip_latex(text: str) -> str:
    text = _MATH.sub(lambda m: _math(m[1] or m[2] or m[3], m.group()), text)
    text = _MATH_BRACKETS.sub(lambda m: _math(m[1], m.group()), text)
    return _latex_commands(text) if "\\" in text else text


def _math(body: str, whole: str) -> str:
    prose = whole.count("$") == 2 and " " in body and not re.search(r"[\\^_=+<>]", body)
    return whole if prose else _latex_commands(body).replace("{", "").replace("}", "")


def _latex_commands(text: str) -> str:
    text = _ENVIRONMENT.sub(" ", text)
    text = _LATEX_GROUP.sub(r"\1\2", text)
    text = _FRACTION.sub(r"(\1)⁄(\2)", text)
    text = _ROOT.sub(r"√\1", text)
    text = _COMMAND.sub(lambda m: LATEX_COMMANDS.get(m[1], m.group()), text)
    return re.sub(r"\((\w{1,20})\)⁄\((\w{1,20})\)", r"\1⁄\2", text)


def _strip_html(text: str, inline: Callable[[str, str], str]) -> str:
    if "<" in text:
        text = _PINYIN.sub(lambda m: inline("", m[1]), text)
        text = _COMMENT.sub(" ", text)
        text = _DOCTYPE.sub(" ", text)
        text = _HIDDEN_BODY.sub("\n", text)
        text = _AUTOLINK.sub(r" \1 ", text)
        text = _TAG.sub(_tag, text)
    if "&" in text:
        # Once only: `&amp;lt;` is a written-out `&lt;`, and no entity that a document defines is ever expanded.
        text = _ENTITY.sub(lambda m: _entity(m.group()), text)
    if "<" in text:
        text = _ANGLE_TEXT.sub(_angle_text, text)
    return text


def _tag(match: re.Match[str]) -> str:
    name = match[1].lower()
    if name in _PAUSE_LINE_TAGS:
        return "\n"
    return "，" if name in _PAUSE_TAGS else ""


def _entity(entity: str) -> str:
    plain = html.unescape(entity)
    if plain == entity:
        return " "
    return "" if plain in ("\u00ad", "\u200b", "\ufeff", "\ufffd",
    "\x00") or "\ud800" <= plain <= "\udfff" else plain.replace("\u00a0", " ")


def _angle_text(match: re.Match[str]) -> str:
    """`<已更名>` is a bracket, `a<b且c>d` a comparison."""
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    comparison = before.isascii() and before.isalnum() and after.isascii() and after.isalnum()
    return match.group() if comparison else f"（{match[1]}）"


def _strip_markdown(text: str) -> str:
    if "`" in text or "~~~" in text:
        text = _FENCE.sub("", text)
        text = _CODE.sub(r"\1", text)
    if "[" in text:
        text = _FOOTNOTE.sub("", text)
        text = _IMAGE_OR_LINK.sub(r"\1", text)
    if "|" in text:
        text = _TABLE_RULE.sub("", text)
        text = _TABLE_ROW.sub(lambda m: "，".join(cell.strip() for cell in m[1].split("|") if cell.strip()) + "\n", text)
    text = _RULE.sub("", text)
    text = _QUOTE.sub("", text)
    text = _HEADING.sub(r"\1\n", text)
    text = _BULLET.sub("", text)
    text = _NUMBERED.sub(r"\1\2、", text)
    if "~~" in text or "==" in text:
        text = _STRIKE.sub(lambda m: m[1] or m[2], text)
    if "*" in text:
        text = _POWER.sub("^", text)
        text = _TIMES.sub("×", text).replace("*", "")
    if "_" in text:
        text = _EMPHASIS_UNDERSCORES.sub("", text)
    return _BACKSLASHED.sub(r"\1", text) if "\\" in text else text


def without_faces(text: str) -> str:
    """The text without emoticons and kaomoji; asked for before `clean`, which takes their parts for letters and digits."""
    text = _EMOTICON.sub(" ", text)
    return _FACE.sub(lambda m: " " if _is_face(m[1]) else m.group(), text) if "(" in text or "（" in text else text


def _is_face(inside: str) -> bool:
    """Whether what stands in brackets is drawn rather than written: `^_^`, `╯°□°`, but not `ω>k` or `x^2`."""
    if re.search(r"[0-9一-鿿가-힣]|[A-Za-zа-яА-Я]{2}", inside) or not _FACE_EYES.search(inside):
        return False
    return all(not edge.isalnum() or edge in _FACE_EDGES for edge in (inside[0], inside[-1]))
