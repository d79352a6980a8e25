"""The configuration file and its twin, the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from edge_tts import config
from edge_tts.cli import main
from edge_tts.errors import OptionError


def parsed(*argv: str) -> config.Config:
    parser = argparse.ArgumentParser()
    config.add_arguments(parser)
    return config.from_arguments(parser.parse_args(argv))


@pytest.fixture(autouse=True)
def no_files_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(config, "default_paths", lambda: [tmp_path / "user.toml", tmp_path / "system.toml"])


def test_an_empty_file_gives_the_defaults() -> None:
    assert config.parse("", "x.toml") == config.Config()


def test_every_option_can_stand_in_the_file() -> None:
    text = config.to_toml(config.Config())
    assert config.parse(text, "x.toml") == config.Config()
    for option in config.options():
        assert f"\n{option.key} = " in "\n" + text


def test_values_of_the_file_are_taken() -> None:
    text = 'voice = "ann"\nspeed = 2\nlog_text = true\n[limits]\nrequests = 3\nidle_gap_s = 0.5\n[sockets]\ntext = "/x y"\n'
    settings = config.parse(text, "x.toml")
    assert (settings.voice, settings.speed, settings.log_text) == ("ann", 2.0, True)
    assert (settings.limits.requests, settings.limits.idle_gap_s, settings.sockets.text) == (3, 0.5, "/x y")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('voice = "ann"\n\nvioce = "ann"\n', "x.toml:3: unknown key 'vioce'; known at the top: bundle, voice"),
        ("[limits]\nrequests = 1\nrequest = 2\n", r"x.toml:3: unknown key 'request'; known in \[limits\]: connections"),
        ("\nrequests = 1\n", r"x.toml:2: unknown key 'requests'; it belongs into \[limits\]"),
        ("[sockets]\nspeed = 1.0\n", "x.toml:2: unknown key 'speed'; it belongs before the first table"),
        ("speed = 1.0\n[limit]\nrequests = 1\n", "x.toml:2: unknown key 'limit'"),
        ("limits.requets = 1\n", "x.toml:1: unknown key 'requets'"),
        ("limits = 3\n", "x.toml:1: unknown key 'limits'"),
        ("[limits]\nrequests = 1.5\n", "x.toml:2: limits.requests must be a whole number, not 1.5"),
        ("[limits]\nrequests = true\n", "limits.requests must be a whole number"),
        ("[limits]\nbuffer_s = -1\n", "limits.buffer_s must not be negative"),
        ("[limits]\nbuffer_s = inf\n", "limits.buffer_s must not be negative or infinite"),
        ("speed = nan\n", "speed must not be"),
        ("speed = 3\n", "speed 3.0 is outside"),
        ("speed = '1'\n", "speed must be a number, not '1'"),
        ("load = 'never'\n", "load must be one of: eager, lazy"),
        ("[sockets]\nmode = '777x'\n", "sockets.mode must be an octal number"),
        ("speed = \n", r"x.toml: .*line 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        config.parse(text, "x.toml")


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('voice = "ann"\nspeed = 1.5\n[limits]\nrequests = 3\n')
    settings = parsed("--config", str(file), "--speed", "0.7", "--max-requests", "9", "--socket", "/s", "--log-text")
    assert (settings.voice, settings.speed, settings.limits.requests) == ("ann", 0.7, 9)
    assert settings.sockets.text == "/s" and settings.log_text


def test_every_option_has_a_flag_of_its_own() -> None:
    flags = [option.flag for option in config.options()]
    assert len(flags) == len(set(flags))


def test_the_users_file_comes_before_the_systems(tmp_path: Path) -> None:
    (tmp_path / "system.toml").write_text("speed = 0.5\n")
    assert parsed().speed == 0.5
    (tmp_path / "user.toml").write_text("speed = 2.0\n")
    assert parsed().speed == 2.0


def test_a_missing_or_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no such configuration file"):
        config.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'voice = "\xe9"\n')
    with pytest.raises(OptionError, match="cannot be read"):
        config.load(tmp_path / "latin.toml")


def test_edge_tts_config_prints_what_is_in_force(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "user.toml").write_text("speed = 1.25\n")
    assert main(["config", "--max-requests", "5"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"# from {tmp_path}/user.toml\n")
    settings = config.parse(printed, "printed")
    assert settings.speed == 1.25 and settings.limits.requests == 5


def test_edge_tts_config_refuses_a_bad_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "user.toml").write_text("\nsped = 1\n")
    assert main(["config"]) == 2
    assert f"{tmp_path}/user.toml:2: unknown key 'sped'" in capsys.readouterr().err
