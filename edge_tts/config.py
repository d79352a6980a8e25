"""The service's options: their names, types, defaults and meaning, once, for the configuration file and the command line.

The file is TOML: top-level keys are the plain fields of `Config`, and `[sockets]` and `[limits]` hold those of the two other
classes. It is strict: an unknown key, or a value of another type, is an error that names the file and the line.
"""

from __future__ import annotations

import argparse
import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from edge_tts.errors import OptionError
from edge_tts.synthesizer import SPEED_MAX, SPEED_MIN


def _option(default: Any, help: str, *, flag: str = "", choices: tuple[str, ...] = ()) -> Any:
    """A field with its line of help; `flag` where the command line calls it differently."""
    return field(default=default, metadata={"help": help, "flag": flag, "choices": choices})


@dataclass(frozen=True)
class Sockets:
    """Where to listen when systemd hands over no sockets."""

    text: str = _option("", "Unix socket of the plain-text protocol", flag="--socket")
    http: str = _option("", "Unix socket, or HOST:PORT, of the HTTP protocol", flag="--http")
    wyoming: str = _option("", "Unix socket, or HOST:PORT, of the Wyoming protocol", flag="--wyoming")
    mode: str = _option("0660", "permissions of Unix sockets, octal", flag="--socket-mode")
    group: str = _option("", "group that Unix sockets are given to", flag="--socket-group")


@dataclass(frozen=True)
class Limits:
    """What one client, and all of them together, may ask for."""

    connections: int = _option(256, "connections at once, over all protocols", flag="--max-connections")
    requests: int = _option(64, "requests at once, spoken or waiting", flag="--max-requests")
    text_bytes: int = _option(262_144, "longest text of one request, in bytes of UTF-8", flag="--max-text-bytes")
    send_timeout_s: float = _option(10.0, "longest pause of a client that has not sent all of its text")
    send_total_s: float = _option(600.0, "longest time that a client may take to send its text")
    idle_gap_s: float = _option(1.0, "pause after a final newline that ends a text")
    read_timeout_s: float = _option(30.0, "longest time that a client may leave audio untaken")
    buffer_s: float = _option(20.0, "audio prepared ahead of a client that reads slowly")
    stop_grace_s: float = _option(10.0, "time that sentences get to come to their end at a stop")


@dataclass(frozen=True)
class Config:
    """Everything the service can be told."""

    bundle: str = _option("", "voice bundle: a directory, or the name of an installed one; by default the first installed")
    voice: str = _option("", "voice of requests that name none; by default the language of the text picks one")
    speed: float = _option(1.0, f"speed of requests that name none, {SPEED_MIN} to {SPEED_MAX}")
    threads: int = _option(0, "CPU threads to speak with; 0 is all")
    load: str = _option("eager", "load the model at the start, or at the first request", choices=("eager", "lazy"))
    unload_after_s: float = _option(0.0, "unload the model after so long without a request; 0 keeps it")
    log_text: bool = _option(False, "write the texts into the log")
    sockets: Sockets = field(default_factory=Sockets)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Option:
    """One option under both of its names: `table` and `key` in the file ("" is the top level), `flag` on the command line."""

    table: str
    key: str
    flag: str
    kind: type
    default: Any
    help: str
    choices: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.table}.{self.key}" if self.table else self.key


def options() -> Iterator[Option]:
    """Every option there is, in the order of the file."""
    for top in fields(Config):
        if is_dataclass(top.default_factory):
            for inner in fields(top.default_factory):
                yield _described(top.name, inner)
        else:
            yield _described("", top)


def _described(table: str, entry: Field[Any]) -> Option:
    flag = entry.metadata["flag"] or "--" + entry.name.replace("_", "-")
    return Option(
        table, entry.name, flag, type(entry.default), entry.default, entry.metadata["help"], entry.metadata["choices"]
    )


def default_paths() -> list[Path]:
    """Where the file is looked for: the user's, then the system's. The first that exists is the one that counts."""
    config_home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return [Path(config_home).expanduser() / "edge-tts" / "config.toml", Path("/etc/edge-tts/config.toml")]


def find(given: str | None) -> Path | None:
    """The file that counts: the given one, else the first of the default paths that exists, else none."""
    if given is not None:
        return Path(given)
    # os.path.isfile, unlike Path.is_file, is just False where this user may not look.
    return next((path for path in default_paths() if os.path.isfile(path)), None)


def load(path: Path | None) -> Config:
    """The defaults, changed by the file at `path`. Raises OptionError that names the file, and the line where there is one."""
    if path is None:
        return Config()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OptionError(f"{path}: no such configuration file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{path}: cannot be read ({error})") from None
    return parse(text, str(path))


def parse(text: str, where: str) -> Config:
    """The defaults, changed by TOML `text`; `where` names it in errors."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"{where}: {error}") from None
    known = {(option.table, option.key): option for option in options()}
    tables = {table for table, _ in known if table}
    values: dict[Option, Any] = {}
    for top, value in data.items():
        if top in tables and isinstance(value, dict):
            pairs = [(top, key, inner) for key, inner in value.items()]
        else:
            pairs = [("", top, value)]
        for table, key, given in pairs:
            line = f"{where}:{_line_of(text, table, key)}"
            option = known.get((table, key))
            if option is None:
                raise OptionError(f"{line}: unknown key {key!r}{_suggestion(key, table, known)}")
            values[option] = _checked(option, given, line)
    return changed(Config(), values)


def _suggestion(key: str, table: str, known: dict[tuple[str, str], Option]) -> str:
    elsewhere = [option for option in known.values() if option.key == key]
    if elsewhere:
        return f"; it belongs into [{elsewhere[0].table}]" if elsewhere[0].table else "; it belongs before the first table"
    there = ", ".join(name for in_table, name in known if in_table == table)
    return f"; known {f'in [{table}]' if table else 'at the top'}: {there}"


def _line_of(text: str, table: str, key: str) -> int:
    """The line on which a key of a table stands; tomllib does not say."""
    inside = ""
    pattern = re.compile(rf"""\s*(?:{re.escape(table)}\s*\.\s*)?["']?{re.escape(key)}["']?\s*(?:=|\.)""")
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        if header:
            inside = header[1]
            if not table and inside.split(".")[0].strip("\"'") == key:
                return number
        elif (inside == table or (not inside and "." in line)) and pattern.match(line):
            return number
    return 1


def _checked(option: Option, value: Any, where: str) -> Any:
    """The value in the option's type; OptionError otherwise."""
    if option.kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not option.kind:
        article = {"str": "text in quotes", "int": "a whole number", "float": "a number", "bool": "true or false"}
        raise OptionError(f"{where}: {option.name} must be {article[option.kind.__name__]}, not {value!r}")
    if option.choices and value not in option.choices:
        raise OptionError(f"{where}: {option.name} must be one of: {', '.join(option.choices)}")
    if isinstance(value, int | float) and not 0 <= value < float("inf"):
        raise OptionError(f"{where}: {option.name} must not be negative or infinite")
    if option.name == "speed" and isinstance(value, float) and not SPEED_MIN <= value <= SPEED_MAX:
        raise OptionError(f"{where}: speed {value} is outside {SPEED_MIN}-{SPEED_MAX}")
    if option.name == "sockets.mode" and not re.fullmatch(r"0?[0-7]{3}", str(value)):
        raise OptionError(f"{where}: sockets.mode must be an octal number like \"0660\", not {value!r}")
    return value


def changed(config: Config, values: dict[Option, Any]) -> Config:
    """`config` with some options set to other values."""
    for option, value in values.items():
        if option.table:
            table = replace(getattr(config, option.table), **{option.key: value})
            config = replace(config, **{option.table: table})
        else:
            config = replace(config, **{option.key: value})
    return config


def value_of(config: Config, option: Option) -> Any:
    return getattr(getattr(config, option.table) if option.table else config, option.key)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One argument for every option, and `--config`. Those not given stay out of the result."""
    paths = ", ".join(str(path) for path in default_paths())
    parser.add_argument("--config", metavar="FILE", help=f"configuration file (default: the first there is of {paths})")
    for option in options():
        default = f" (default: {option.default})" if option.default not in ("", False) else ""
        if option.kind is bool:
            parser.add_argument(
                option.flag, dest=option.name, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help=option.help
            )
        else:
            parser.add_argument(
                option.flag, dest=option.name, type=option.kind, choices=option.choices or None, default=argparse.SUPPRESS,
                metavar=None if option.choices else option.key.upper(), help=option.help + default,
            )  # fmt: skip


def from_arguments(args: argparse.Namespace) -> Config:
    """What is in force: the defaults, changed by the configuration file, changed by the command line."""
    given = vars(args)
    values = {option: _checked(option, given[option.name], option.flag) for option in options() if option.name in given}
    return changed(load(find(args.config)), values)


def to_toml(config: Config) -> str:
    """The whole configuration as a file, each option under its line of help."""
    lines: list[str] = []
    table = ""
    for option in options():
        if option.table != table:
            table = option.table
            lines += ["", f"[{table}]"]
        lines += [f"# {option.help}", f"{option.key} = {_toml_value(value_of(config, option))}"]
    return "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)
