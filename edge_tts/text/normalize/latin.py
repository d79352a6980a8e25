"""Latin words in any language: which capitals are spelled (FBI), which are words (NASA, STOP), and names made of both (ChatGPT)."""

from __future__ import annotations

import re

# Capitals that are spoken as words though they are short or hard to say by rule.
_SPOKEN = frozenset(
    "nasa nato fifa uefa opec asean nafta aids sars mers covid ram rom sim pin gif jpeg jpg json yaml toml cuda nvidia ikea sony nike lego zara visa "
    "oppo vivo asus acer dell ebay meta bios dos lan wan mac ajax soap rest crud dram sram nand eprom laser radar sonar scuba swat "
    "potus scotus unesco unicef interpol nasdaq basic cobol lisp perl ruby java rust bash linux unix ubuntu debian redis mysql captcha ascii unicode oled "
    "amoled vip asap yolo bert lora yolov llama qwen gemini claude kimi mistral whisper siri alexa tesla intel xeon ryzen zoom uber airbnb epub doge "
    "hiv ted tedx imax nba wifi hifi ufo duolingo lidar gan gans relu adam aws maven gradle docker kafka spark numpy scipy pandas "
    "leica fanuc kuka volvo audi fiat seat mini lexus mazda honda acura roku wacom benq lenovo haier midea gree leap wasm".split()
) - frozenset("hiv vip nba ufo aws asap oled jpg pin".split()) | frozenset({"pin", "asap", "oled"})
# Capitals that are spelled though they could be said.
_SPELLED = frozenset(
    "ai it us uk eu un id ip io os ui ux ar vr pc tv dj mv cd dvd cpu gpu tpu npu usb api sdk ide sql css html xml http https www ftp ssh ssl tls dns url uri "
    "pdf txt csv doc ppt xls exe dll apk zip7 fbi cia irs ceo cfo cto coo hr pr qa rd bbc cnn cctv abc nbc cbs hbo espn ibm amd bmw byd kfc ufo atm gps led lcd "
    "hdmi uefi isbn wto imf who wwf gdp cpi ppi ipo etf ktv mba emba phd gre gmat sat act ielts cet ats usa uae ussr prc roc dna rna mrna "
    "aids? hiv adhd ptsd icu er md aoa lol omg fyi faq diy ok pm am bc ad ce bce est pst gmt utc ioc iso ieee iaea eta esa isa asa usaid ucla usc mit aigc agi llm rag moe sota ocr asr tts nlp".split()
)
# Lower-case letter strings that nobody can say.
_LOWER_SPELLED = frozenset(
    "www http https ftp html htm css xml pdf txt csv tsv jpg png svg bmp mp wav flac? exe dll apk py js ts cpp rs sh md yml cfg ini src usb cpu gpu api sdk url sql ssh ssl tls dns tcp udp ip ui ux "
    "tv pc dvd cd id ai io cn uk hk tw jp kr de fr ru eu edu? docx pptx xlsx tmp ppt xls rtf srt ttf mkv avi mov psd".replace("?", "").split()
) - frozenset("edu de id flac mov ai".split()) | frozenset({"ai"})
# Short words that people write in capitals for stress.
_WORDS = frozenset(
    """an as at be by do go he if in is me my no of on or so to up we all and any are ask bad big box boy but buy can car cat cut dad day did dim dog dry eat
    end far few fix fly for fun get god got gun guy had has hat her hey him his hit hot how its job joy key kid law lay let lie lot low mad man may men mix mom
    new not now odd off old one our out own pay put ran red run sad saw say see set she shy sir sit six sky son stop sun ten the too top toy try two use van war was
    way who why win wow yes yet you able also away baby back ball band bank base bath beat been best bird blue boat body book born both busy call came card
    care case cash cell city club cold come cook cool cost dark data date days dead deal dear deep does done door down draw dream drop duck each east easy edge else
    even ever evil exit face fact fail fair fall fast fear feel feet fell felt file fill film find fine fire fish five flag flat food foot form four free from full
    game gave gift girl give glad goal gold gone good grew hair half hall hand hard hate have head hear heat held help here hero high hold home hope hour huge hurt
    idea into iron item join jump just keep kept kick kill kind king knew know lady lake land last late lazy lead left less life lift like line list live lock long
    look lord lose loss lost love luck made mail main make many mark mean meet menu mind mine miss mode moon more most move much must name near neck need news next
    nice nine none note okay once only onto open over page paid pain park part pass past path pick plan play poor pull pure push quit race rain rate read real rest
    rice rich ride ring rise risk road rock role roll roof room rule safe said sale salt same sand save seat seed seek seem self sell send sent ship shop shot show
    shut sick side sign sing site size skin slow snow soft sold some song soon sort soul stay step such suit sure take talk tall tape task team tell test text than
    that them then they thin this time tiny told tone took tour town tree trip true turn type unit upon used user vary very view vote wait wake walk wall want warm
    warn wash wave weak wear week well went were west what when whom wide wife wild will wind wine wing wise wish with wood word work yard yeah year your zero""".split()
) - _SPELLED
_ONSETS = frozenset("bl br ch cl cr dr dw fl fr gl gr gh gn kl kn kr ph pl pr ps qu rh sc sh sk sl sm sn sp sq st sv sw th tr ts tw wh wr".split())
_VOWELS = frozenset("aeiouy")

_DOTTED = re.compile(r"(?<![A-Za-z.])(?:[A-Za-z]\.){2,12}(?:[A-Za-z](?![A-Za-z]))?")
_TOKEN = re.compile(r"[A-Za-z]+")
_CAPITALS = re.compile(r"(?<![A-Za-z'’])[A-Z]{2,}(?![A-Za-z])")
_PARTS = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]")
_INITIALS_AND = re.compile(r"(?<![A-Za-z])([A-Z]{1,3})&([A-Z]{1,3})(?![A-Za-z])")
_AMPERSAND = re.compile(r"\s?&\s?")


def spell(text: str, *, plural: str, and_word: str) -> str:
    """The text with initialisms as single letters: "GPUs" -> "G P U's", "ChatGPT" -> "Chat G P T".

    plural: what a plural initialism ends in
    and_word: what & between characters other than Latin letters becomes
    """
    if "&" in text:
        text = _INITIALS_AND.sub(lambda m: f"{' '.join(m[1])} and {' '.join(m[2])}", text)
        text = _AMPERSAND.sub(lambda m: " and " if _latin_beside(m) else and_word, text)
    if "." in text:
        text = _DOTTED.sub(_dotted, text)
    shouting = _is_shouted(text)
    return _TOKEN.sub(lambda m: _word(m.group(), shouting, plural), text)


def _latin_beside(match: re.Match[str]) -> bool:
    text = match.string
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    return before.isascii() and after.isascii()


def _dotted(match: re.Match[str]) -> str:
    text = match.string
    letters = " ".join(match.group().replace(".", ""))
    ends = match.group().endswith(".") and not text[match.end() :].strip()
    return letters + ("." if ends else "")


def _is_shouted(text: str) -> bool:
    """Whether the sentence is written in capitals, so that capitals say nothing."""
    tokens = _TOKEN.findall(text)
    capitals = [token for token in tokens if len(token) > 1 and token.isupper()]
    words = sum(token.lower() in _WORDS for token in capitals)
    return len(capitals) >= 3 and 2 * len(capitals) > len([token for token in tokens if len(token) > 1]) and 2 * words >= len(capitals)


def _word(token: str, shouting: bool, plural: str) -> str:
    if len(token) < 2:
        return token
    if token.isupper():
        return " ".join(token) if is_spelled(token, shouting=shouting) else token
    if token.islower():
        return " ".join(token) if token in _LOWER_SPELLED else token
    if token[-1] == "s" and token[:-1].isupper() and len(token) > 2:
        return " ".join(token[:-1]) + plural if is_spelled(token[:-1]) else token
    if token[0].isupper() and token[1:].islower():
        return token
    if token.lower() in _SPOKEN:
        return token
    if token == "PhD":
        return "P h D"
    parts = _PARTS.findall(token)
    if any(len(part) > 1 and part.isupper() and is_spelled(part) for part in parts):
        return " ".join(" ".join(part) if part.isupper() and is_spelled(part) else part for part in parts)
    return token


def is_spelled(capitals: str, *, shouting: bool = False) -> bool:
    """Whether a word in capitals is said letter by letter."""
    word = capitals.lower()
    if shouting and (word in _WORDS or word in ("it", "us", "am", "who", "act", "sat") or (len(word) > 3 and pronounceable(word))):
        return False
    if word in _SPELLED:
        return True
    if word in _SPOKEN or word in _WORDS:
        return False
    return len(word) < 5 or not pronounceable(word)


def pronounceable(word: str) -> bool:
    """Whether a lower-case letter string can be said as an English word."""
    if not _VOWELS & set(word):
        return False
    if len(word) > 1 and word[0] not in _VOWELS and word[1] not in _VOWELS and word[:2] not in _ONSETS:
        return False
    consonants = 0
    for letter in word:
        consonants = 0 if letter in _VOWELS else consonants + 1
        if consonants > 4:
            return False
    return True


def address_word(word: str) -> str:
    """A word of a URL, path or file name: as it is where it can be said, else letter by letter."""
    lower = word.lower()
    if len(word) == 1 or lower in ("com", "org", "net", "gov", "edu", "mil", "info", "app", "dev", "blog", "shop", "top", "xyz"):
        return " ".join(word) if lower == "xyz" else word
    if lower in _LOWER_SPELLED or lower in ("cn", "io", "co", "me", "ai", "to", "gg", "id", "de", "us"):
        return " ".join(word)
    if word.isupper():
        return " ".join(word) if is_spelled(word) else word
    return word if (pronounceable(lower) and len(word) > 2) or lower in _WORDS else " ".join(word)
