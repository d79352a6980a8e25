"""`edge-tts bundle`: bundles come whole, checked and readable, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from edge_tts import bundle
from edge_tts.cli import main


@pytest.fixture
def voices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where bundles are added and looked for."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    return tmp_path / "data" / "edge-tts" / "voices"


def packed(kind: str, source: Path, target: Path) -> Path:
    """The bundle as a user may have it: a directory, or an archive with or without a folder at its top."""
    if kind == "directory":
        return source
    if kind == "zip":
        with zipfile.ZipFile(target, "w") as archive:
            for path in source.rglob("*"):
                archive.write(path, f"voice/{path.relative_to(source)}")
        return target
    with tarfile.open(target, "w:gz" if kind == "tar.gz" else "w:xz") as tar:
        tar.add(source, "." if kind == "tar.xz" else "voice")
    return target


@pytest.mark.parametrize("kind", ["directory", "zip", "tar.gz", "tar.xz"])
def test_a_bundle_is_added_from_what_users_have(kind: str, tiny_bundle_copy: Path, tmp_path: Path, voices: Path) -> None:
    (tiny_bundle_copy / "stray").write_text("not in the manifest")
    source = packed(kind, tiny_bundle_copy, tmp_path / f"voice.{kind}")
    umask = os.umask(0o077)
    try:
        assert main(["bundle", "add", str(source), "--name", "mine"]) == 0
    finally:
        os.umask(umask)
    assert bundle.open_bundle(voices / "mine", verify=True).manifest.voices
    assert not (voices / "mine" / "stray").exists()
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in (voices / "mine").rglob("*"))
    assert [path.name for path in voices.iterdir()] == ["mine"]


def test_a_damaged_bundle_leaves_what_was_there(
    tiny_bundle_copy: Path, voices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", "add", str(tiny_bundle_copy), "--name", "mine"]) == 0
    damaged = next(path for path in tiny_bundle_copy.rglob("*.bin") if path.stat().st_size)
    damaged.write_bytes(bytes([damaged.read_bytes()[0] ^ 1]) + damaged.read_bytes()[1:])
    assert main(["bundle", "add", str(tiny_bundle_copy), "--name", "mine"]) == 66
    assert "SHA-256" in capsys.readouterr().err
    assert bundle.open_bundle(voices / "mine", verify=True)
    assert [path.name for path in voices.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["../out", ".hidden", "", "a/b"])
def test_a_bundle_cannot_name_itself_out_of_its_directory(name: str, tiny_bundle_copy: Path, voices: Path) -> None:
    manifest = tiny_bundle_copy / bundle.MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "name": name}))
    assert main(["bundle", "add", str(tiny_bundle_copy)]) == 66
    assert not voices.exists() or not list(voices.iterdir())


def test_what_is_no_bundle_is_refused_with_its_name(tmp_path: Path, voices: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("no archive")
    for name in ("empty", "text", "absent"):
        assert main(["bundle", "add", str(tmp_path / name)]) == 66
        assert str(tmp_path / name) in capsys.readouterr().err


def test_bundles_are_listed_and_removed(tiny_bundle_copy: Path, voices: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["bundle", "add", str(tiny_bundle_copy), "--name", "mine"])
    main(["bundle", "list", "--verify"])
    assert "mine" in capsys.readouterr().out
    assert main(["bundle", "remove", "mine"]) == 0
    assert not list(voices.iterdir())
    assert main(["bundle", "remove", "mine"]) == 66


def test_a_package_s_bundle_is_the_package_s_to_remove(
    tiny_bundle_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(tiny_bundle_copy, tmp_path / "system" / "mine")
    monkeypatch.setattr(bundle, "search_path", lambda: [tmp_path / "own", tmp_path / "system"])
    assert main(["bundle", "remove", "mine"]) == 66
    assert "belongs to a package" in capsys.readouterr().err
    assert (tmp_path / "system" / "mine").is_dir()
