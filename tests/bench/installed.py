"""How much of a disk the runtime takes: the distributions that an extra needs, with and without what no voice opens.

    python -m tests.bench.installed [EXTRA …]

Sizes are those of the files that pip recorded, so nothing is downloaded and what else the environment holds does not count. What
no voice opens is the list by which the Debian package leaves files out.
"""

from __future__ import annotations

import argparse
import importlib.metadata as metadata
import runpy
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = "edge-tts-openvino"


def requirements(extras: Sequence[str], pyproject: Path = ROOT / "pyproject.toml") -> list[Requirement]:
    """What the checkout itself asks for with those extras; KeyError for one that it has not."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    return [Requirement(line) for line in lines]


def closure(wanted: Sequence[Requirement]) -> dict[str, metadata.Distribution]:
    """Those installed distributions and all that they need, by name."""
    found: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    todo = list(wanted)
    while todo:
        requirement = todo.pop()
        name, extras = requirement.name.lower().replace("_", "-"), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        found[name] = metadata.distribution(name)
        todo += [needed for needed in map(Requirement, found[name].requires or ()) if _applies(needed, extras)]
    return found


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras | {""})


def left_out(site: Path) -> set[Path]:
    """What the Debian package does without of what is installed there: files, and directories with all in them."""
    patterns = runpy.run_path(str(ROOT / "systemd" / "build-deb"))["LEFT_OUT"]
    return {path for pattern in patterns for path in site.glob(pattern)}


def files(distribution: metadata.Distribution) -> Iterator[tuple[Path, int]]:
    """Path and bytes of each of a distribution's files that is there, a module with its compiled form."""
    for file in distribution.files or ():
        path = Path(str(file.locate()))
        if path.is_file() and "__pycache__" not in path.parts:
            compiled = path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}.pyc"
            with_it = compiled.stat().st_size if path.suffix == ".py" and compiled.is_file() else 0
            yield path, path.stat().st_size + with_it


def sizes(extras: Sequence[str]) -> dict[str, float]:
    """MB of each distribution that the runtime needs with those extras, of "all", and of all "slimmed"."""
    by_name: dict[str, float] = {}
    slimmed = 0.0
    unneeded: dict[Path, set[Path]] = {}
    for name, distribution in closure(requirements(extras)).items():
        site = Path(str(distribution.locate_file("")))
        without = unneeded.setdefault(site, left_out(site))
        by_name[name] = 0.0
        for path, size in files(distribution):
            by_name[name] += size / 1e6
            slimmed += 0.0 if without.intersection((path, *path.parents)) else size / 1e6
    own = sum(path.stat().st_size for path in (ROOT / "edge_tts").rglob("*") if path.is_file()) / 1e6
    by_name[PROJECT] = own
    return {name: round(size, 1) for name, size in {**by_name, "all": sum(by_name.values()), "slimmed": slimmed + own}.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", default=["kokoro"], metavar="EXTRA")
    for name, size in sizes(parser.parse_args(argv).extras).items():
        print(f"{size:9.1f} MB  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
