"""What the Debian package is made from, where that can be checked without building it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def test_the_package_brings_everything_that_the_project_declares_in_versions_that_it_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["kokoro"], *extras["service"], *extras["cosyvoice"]]
    declared = [Requirement(line) for line in lines]
    text = (ROOT / "systemd" / "deb" / "requirements.txt").read_text()
    pinned = {name.lower(): version for name, version in re.findall(r"(?m)^([\w-]+)==(\S+) \\$", text)}
    for requirement in declared:
        assert requirement.specifier.contains(pinned[requirement.name.lower()]), requirement


def test_every_unit_travels_in_the_wheel() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    units = {f"systemd/{path.name}" for path in (ROOT / "systemd").glob("edge-tts*")}
    assert units <= set(wheel), units - set(wheel)
