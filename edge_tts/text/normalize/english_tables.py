"""What the English rules look up: units, currencies, short forms, and the words that tell a year from an amount."""

from __future__ import annotations

from edge_tts.text.data import table

# Unit -> (one, many).
UNITS = {name: (one, many) for names, one, many in table("units_en.tsv") for name in names.split(",")}
# Denominators of units, spoken after "per".
PER = {
    "h": "hour", "hr": "hour", "hour": "hour", "s": "second", "sec": "second", "second": "second", "min": "minute",
    "minute": "minute", "day": "day", "d": "day", "week": "week", "wk": "week",
    "month": "month", "mo": "month", "year": "year", "yr": "year", "kg": "kilogram", "g": "gram", "lb": "pound", "oz": "ounce",
    "L": "liter", "l": "liter", "mL": "milliliter", "ml": "milliliter", "dL": "deciliter", "dl": "deciliter",
    "m": "meter", "km": "kilometer", "m^2": "square meter", "m^3": "cubic meter", "cm^2": "square centimeter",
    "cm^3": "cubic centimeter", "s^2": "second squared", "mol": "mole", "gal": "gallon", "mi": "mile", "sqft": "square foot",
    "ft": "foot", "in": "inch",
    "person": "person", "people": "people", "unit": "unit", "night": "night", "ton": "ton", "t": "ton", "barrel": "barrel",
    "share": "share", "kWh": "kilowatt hour", "user": "user", "head": "head", "hundred": "hundred", "acre": "acre",
    "ha": "hectare", "item": "item", "box": "box", "cup": "cup", "each": "each", "pound": "pound", "mile": "mile",
    "gallon": "gallon", "liter": "liter", "meter": "meter", "kilo": "kilo", "ride": "ride", "call": "call", "seat": "seat",
    "page": "page", "pack": "pack", "class": "class", "session": "session", "ticket": "ticket", "piece": "piece",
    "bottle": "bottle",
}  # fmt: skip
# One letter or an English word: a unit only when it touches its number.
TIGHT_UNITS = frozenset("A B J K L MP N Pa bps cal cc g h in kb kn l m mo pt s t tb us".split())

# Sign or code -> (one, many, one part, many parts).
CURRENCIES = {name: tuple(words) for names, *words in table("currencies_en.tsv") for name in names.split(",")}
SCALES = {"k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million", "b": "billion", "B": "billion",
    "bn": "billion", "t": "trillion", "T": "trillion", "tn": "trillion"}

MONTHS = "January February March April May June July August September October November December".split()
MONTH_SHORT = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10, "nov": 11,
    "dec": 12}
DAYS_SHORT = {"mon": "Monday", "tue": "Tuesday", "tues": "Tuesday", "wed": "Wednesday", "thu": "Thursday", "thur": "Thursday",
    "thurs": "Thursday", "fri": "Friday", "sat": "Saturday", "sun": "Sunday"}

# Written with a full stop (or none, where marked below) -> the words; keys in lower case.
ABBREVIATIONS = {
    "mr": "Mister", "mrs": "Missus", "ms": "Miz", "prof": "Professor", "rev": "Reverend", "hon": "Honorable", "gen": "General",
    "col": "Colonel", "capt": "Captain", "lt": "Lieutenant",
    "sgt": "Sergeant", "maj": "Major", "cmdr": "Commander", "sen": "Senator", "rep": "Representative", "gov": "Governor",
    "pres": "President", "supt": "Superintendent", "messrs": "Messieurs",
    "jr": "Junior", "sr": "Senior", "vs": "versus", "etc": "et cetera", "e.g": "for example", "eg": "for example",
    "i.e": "that is", "ie": "that is", "cf": "compare", "viz": "namely", "approx": "approximately", "est": "established",
    "dept": "department", "univ": "University", "inc": "Incorporated", "ltd": "Limited", "corp": "Corporation",
    "bros": "Brothers", "assn": "Association", "ave": "Avenue", "blvd": "Boulevard", "rd": "Road", "ln": "Lane",
    "hwy": "Highway", "pkwy": "Parkway", "apt": "Apartment", "mt": "Mount", "ft": "Fort", "tel": "telephone", "ext": "extension",
    "fig": "figure", "figs": "figures", "vol": "volume", "vols": "volumes", "ch": "chapter", "chap": "chapter",
    "eq": "equation", "ref": "reference", "sec": "section", "ed": "edition", "pp": "pages", "p": "page",
    "misc": "miscellaneous", "min": "minimum", "max": "maximum", "avg": "average", "et al": "et al", "incl": "including",
    "excl": "excluding", "dist": "district", "govt": "government", "mgmt": "management", "intl": "international",
    "natl": "national", "asst": "assistant", "attn": "attention", "temp": "temperature", "info": "info", "lb": "pound",
    "lbs": "pounds", "oz": "ounces", "no": "number", "nos": "numbers", "st": "Saint", "dr": "Doctor", "co": "Company",
    "sq": "square", "a.k.a": "also known as", "esq": "Esquire", "yrs": "years", "hrs": "hours", "mins": "minutes",
}  # fmt: skip
# Said also without the full stop.
WITHOUT_STOP = frozenset("mr mrs ms prof dr vs etc jr sr dept approx govt".split())
# Only before a number.
BEFORE_NUMBER = frozenset("no nos fig figs vol vols ch chap eq ref sec p pp art ext apt para tel ed".split())
# Only before a name (a capital).
BEFORE_NAME = frozenset("gen col capt lt sgt maj cmdr sen rep gov pres rev hon supt mt ft st dr messrs".split())

# A number of four digits after one of these is a year.
YEAR_BEFORE = frozenset(
    "in since of by from until till before after during year circa around early late mid class back summer winter spring "
    "autumn fall between and to through "
    "january february march april may june july august september october november december jan feb mar apr jun jul aug sep "
    "sept oct nov dec fy est established born died c anno version copyright".split()
)
# After one of these it is an amount, unless a year is plain …
AMOUNT_BEFORE = frozenset(
    "about over nearly almost only than least most costs cost counted paid exactly some roughly approximately has have had "
    "are were equals is was total got with".split()
)
# … and after one of these a name, said in pairs: Room 1408.
NUMBERED_PLACES = frozenset("room flight gate bus route highway model number code pin suite channel line unit area "
                            "apartment extension".split())
IRREGULAR_PLURALS = frozenset("people men women children feet teeth mice geese sheep fish deer police cattle percent "
                              "hundred thousand million billion dozen".split())
NOT_PLURALS = frozenset("was is has does as its this his us thus plus versus yes less across always perhaps news series "
                        "species was,".split())
# A roman numeral after one of these is a number …
NUMBERED = frozenset("chapter part section volume act scene book war phase stage type title article appendix level episode "
                     "season grade class category rocky super bowl wrestlemania olympiad figure table unit module step "
                     "round version mark no".split())
# … after one of these a king's or a pope's.
REGNAL = frozenset(
    "pope king queen emperor louis henry charles george edward richard william james philip elizabeth pius john benedict "
    "clement innocent gregory leo urban alexander nicholas peter paul "
    "catherine frederick wilhelm napoleon ramesses ramses ptolemy thutmose xerxes darius otto francis ferdinand carlos "
    "alfonso juan ivan gustav christian haakon olaf harald mary sixtus julius boniface celestine adrian haile mehmed murad "
    "selim xiaoping leopold albert baudouin umberto victor emmanuel constantine".split()
)
SPELLED_FRACTIONS = {2: ("half", "halves"), 4: ("quarter", "quarters")}
