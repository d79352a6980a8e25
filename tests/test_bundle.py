"""Bundles: what is wrong with one is named, with what to do about it; a new one appears whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edge_tts import bundle, load_voice
from edge_tts.bundle import (
    Bundle,
    Manifest,
    VoiceEntry,
    find,
    installed,
    open_bundle,
    read_manifest,
    staged_directory,
    write_manifest,
)
from edge_tts.errors import BundleError, UnknownVoiceError

VOICES = (VoiceEntry("ann", "en-US", "Apache-2.0", "female"), VoiceEntry("mei", "zh-CN", "CC0-1.0"))


def make_bundle(directory: Path, **changes: Any) -> Bundle:
    """A bundle of two small files, none of which is a graph."""
    (directory / "voices").mkdir(parents=True)
    (directory / "graph.xml").write_bytes(b"<graph/>")
    (directory / "voices" / "ann.npy").write_bytes(bytes(100))
    manifest = Manifest(
        family="kokoro", name="small", sample_rate=24000, languages=("en", "zh"), voices=VOICES,
        default_voices={"": "ann", "zh": "mei"}, recipe={"name": "float32"}, provenance={"sources": []}, settings={"n": 1},
    )  # fmt: skip
    write_manifest(directory, manifest)
    if changes:
        edit_manifest(directory, lambda data: data.update(changes))
    return Bundle(directory, manifest)


def edit_manifest(directory: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = directory / bundle.MANIFEST
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return make_bundle(tmp_path / "small").path


def test_what_is_written_is_what_is_read(small: Path) -> None:
    manifest = open_bundle(small).manifest
    assert manifest.voices == VOICES
    assert manifest.default_voices == {"": "ann", "zh": "mei"}
    assert (manifest.languages, manifest.settings, manifest.schema) == (("en", "zh"), {"n": 1}, 1)
    assert [entry.path for entry in manifest.files] == ["graph.xml", "voices/ann.npy"]
    assert manifest.files[1].size == 100


def test_a_manifest_is_plain_json_that_others_can_read(small: Path) -> None:
    data = json.loads((small / "manifest.json").read_text(encoding="utf-8"))
    assert data["schema"] == 1
    assert data["files"][0]["sha256"] == hashlib.sha256(b"<graph/>").hexdigest()


def test_a_missing_file_is_named_with_the_remedy(small: Path) -> None:
    (small / "graph.xml").unlink()
    with pytest.raises(BundleError, match=r"graph\.xml is missing; make it again with `python -m convert`"):
        open_bundle(small)


def test_a_file_of_another_size_is_named_even_unverified(small: Path) -> None:
    (small / "graph.xml").write_bytes(b"<graph")
    with pytest.raises(BundleError, match=r"graph\.xml: 6 bytes where the manifest says 8: cut short or changed; make it again"):
        open_bundle(small, verify=False)


def test_a_changed_file_is_named(small: Path) -> None:
    (small / "graph.xml").write_bytes(b"<grape/>")
    with pytest.raises(BundleError, match=r"graph\.xml: its SHA-256 is not the manifest's.*make it again"):
        open_bundle(small)
    open_bundle(small, verify=False)


def test_a_file_that_is_a_directory_is_an_error(small: Path) -> None:
    (small / "graph.xml").unlink()
    (small / "graph.xml").mkdir()
    with pytest.raises(BundleError, match=r"graph\.xml"):
        open_bundle(small)


@pytest.mark.parametrize("schema", [0, 2, "1", None, [1]])
def test_an_unknown_schema_is_refused(tmp_path: Path, schema: Any) -> None:
    made = make_bundle(tmp_path / "b", schema=schema)
    with pytest.raises(BundleError, match=r"manifest\.json: schema .* is not the 1 that this version reads; make it again"):
        read_manifest(made.path)


def test_an_unknown_family_lists_the_known_ones(tiny_bundle: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "other"
    shutil.copytree(tiny_bundle.path, path)
    edit_manifest(path, lambda data: data.update(family="parrot"))
    with pytest.raises(BundleError, match=r"unknown family 'parrot' \(this version knows: cosyvoice, .*piper\); update"):
        load_voice(path)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "3", '"a"', "{}", '{"schema": 1}', "[" * 100_000, "\x00", '{"schema": NaN}'],
    ids=lambda text: repr(text[:12]),
)
def test_a_manifest_that_is_none_is_an_error(small: Path, text: str) -> None:
    (small / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(BundleError, match=r"manifest\.json"):
        open_bundle(small)


def test_a_manifest_that_is_not_utf8_is_an_error(small: Path) -> None:
    (small / "manifest.json").write_bytes(b'{"schema": "\xff"}')
    with pytest.raises(BundleError, match="not valid JSON"):
        open_bundle(small)


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../b", "", "voices/../../x", "a\x00b", 3, None, ["a"]])
def test_a_file_path_that_leaves_the_bundle_is_refused(small: Path, path: Any) -> None:
    edit_manifest(small, lambda data: data["files"][0].update(path=path))
    with pytest.raises(BundleError, match="leaves the bundle"):
        open_bundle(small)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("voices", []),
        ("voices", 3),
        ("voices", "ann"),
        ("voices", [{"name": "ann"}]),
        ("voices", [{"name": ["ann"], "language": "en", "license": "MIT"}]),
        ("voices", [{"name": "ann", "language": 3, "license": "MIT"}]),
        ("files", None),
        ("files", [{"path": "graph.xml", "sha256": 3, "size": "many"}]),
        ("files", [{"path": "graph.xml", "sha256": "0", "size": 8, "mode": 7}]),
        ("sample_rate", 0),
        ("sample_rate", "24000"),
        ("sample_rate", True),
        ("sample_rate", 24000.5),
        ("family", 7),
        ("name", None),
        ("settings", []),
        ("recipe", "int8"),
        ("provenance", []),
        ("languages", "en"),
        ("languages", [1]),
        ("default_voices", ["ann"]),
        ("default_voices", {"en": "nobody"}),
        ("default_voices", {"en": ["ann"]}),
        ("surprise", 1),
    ],
    ids=str,
)
def test_a_value_of_the_wrong_kind_is_an_error_that_names_it(tmp_path: Path, key: str, value: Any) -> None:
    made = make_bundle(tmp_path / "b", **{key: value})
    with pytest.raises(BundleError, match=r"manifest\.json: .*make it again"):
        open_bundle(made.path)


@pytest.mark.parametrize("key", sorted(set(Manifest.__dataclass_fields__) - {"settings", "schema"}))
def test_a_missing_key_is_named(small: Path, key: str) -> None:
    edit_manifest(small, lambda data: data.pop(key))
    with pytest.raises(BundleError, match=f"{key} is missing"):
        open_bundle(small)


def test_no_directory_and_no_manifest_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no such voice bundle"):
        open_bundle(tmp_path / "nothing")
    with pytest.raises(BundleError, match=r"manifest\.json is missing, so .* is no voice bundle"):
        open_bundle(tmp_path)
    with pytest.raises(BundleError, match="no such voice bundle"):
        open_bundle("x" * 300)


def test_a_file_that_the_manifest_does_not_list_cannot_be_had(small: Path) -> None:
    (small / "extra.bin").write_bytes(b"1")
    made = open_bundle(small)
    assert made.file("graph.xml") == small / "graph.xml"
    with pytest.raises(BundleError, match=r"lists no file 'extra\.bin'"):
        made.file("extra.bin")


def test_an_unknown_voice_lists_the_voices(small: Path) -> None:
    with pytest.raises(UnknownVoiceError, match="unknown voice 'bob'; this bundle has: ann, mei"):
        open_bundle(small).voice("bob")


def test_a_language_without_a_voice_of_its_own_gets_the_general_one(small: Path) -> None:
    made = open_bundle(small)
    assert [made.default_voice(language).name for language in ("zh", "en", "fr", "")] == ["mei", "ann", "ann", "ann"]


# --- writing ------------------------------------------------------------------------------------------------------------


def left_beside(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


def test_a_staged_directory_appears_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down" / "voice"
    with staged_directory(target) as stage:
        (stage / "a").write_text("1")
        assert not target.exists()
    assert (target / "a").read_text() == "1"
    assert left_beside(target) == ["voice"]
    assert target.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_staged_directory_vanishes_when_the_block_fails(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "voice"
    with pytest.raises(error), staged_directory(target) as stage:
        (stage / "a").write_text("1")
        raise error
    assert left_beside(target) == []


def test_an_existing_bundle_is_kept_until_the_new_one_is_complete(tmp_path: Path) -> None:
    target = make_bundle(tmp_path / "voice").path
    with pytest.raises(RuntimeError), staged_directory(target) as stage:
        (stage / "a").write_text("1")
        open_bundle(target)
        raise RuntimeError
    open_bundle(target)
    with staged_directory(target) as stage:
        (stage / "b").write_text("2")
    assert [path.name for path in target.iterdir()] == ["b"]
    assert left_beside(target) == ["voice"]


@pytest.mark.parametrize("failing_call", [1, 2])
def test_an_existing_bundle_is_put_back_when_the_exchange_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing_call: int
) -> None:
    target = make_bundle(tmp_path / "voice").path
    replace, calls = os.replace, []

    def replace_that_fails(source: Path, destination: Path) -> None:
        calls.append(source)
        if len(calls) == failing_call:
            raise OSError(errno.EIO, "Input/output error")
        replace(source, destination)

    monkeypatch.setattr(os, "replace", replace_that_fails)
    with pytest.raises(BundleError, match=r"voice: the new bundle could not be put there \(Input/output error\)"):
        with staged_directory(target) as stage:
            (stage / "a").write_text("1")
    open_bundle(target)
    assert left_beside(target) == ["voice"]


def test_a_link_to_a_bundle_stays_a_link(tmp_path: Path) -> None:
    made = make_bundle(tmp_path / "real" / "voice").path
    link = tmp_path / "link"
    link.symlink_to(made)
    with staged_directory(link) as stage:
        (stage / "b").write_text("2")
    assert link.is_symlink() and [path.name for path in made.iterdir()] == ["b"]
    assert left_beside(link) == ["link", "real"] and left_beside(made) == ["voice"]


def test_a_directory_that_is_no_bundle_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("dear")
    for target in (tmp_path / "home", tmp_path / "file"):
        with pytest.raises(BundleError, match="neither a voice bundle nor an empty directory"), staged_directory(target):
            pytest.fail("the block was entered")
    (tmp_path / "empty").mkdir()
    with staged_directory(tmp_path / "empty"):
        pass


def test_a_place_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("dear")
    with pytest.raises(BundleError, match="file"), staged_directory(tmp_path / "file" / "voice"):
        pytest.fail("the block was entered")


# --- finding ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "edge-tts" / "voices"


def test_the_users_data_directory_comes_first(places: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = [Path("/var/lib/edge-tts/voices"), Path("/usr/share/edge-tts/voices")]
    assert bundle.search_path() == [places, *system]
    monkeypatch.delenv("XDG_DATA_HOME")
    assert bundle.search_path() == [own_home / ".local" / "share" / "edge-tts" / "voices", *system]


def test_an_earlier_bundle_hides_a_later_one_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    monkeypatch.setattr(bundle, "search_path", lambda: [first, tmp_path / "nowhere", second])
    for path in (first / "b", second / "a", second / "b", first / ".b.tmp"):
        make_bundle(path)
    (first / "notes").mkdir()
    assert installed() == [first / "b", second / "a"]
    assert find(None) == first / "b"
    assert find("a") == second / "a"


def test_a_place_that_cannot_be_looked_at_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_bundle(tmp_path / "good" / "b").path
    monkeypatch.setattr(bundle, "search_path", lambda: [tmp_path / ("x" * 300), tmp_path / "good"])
    assert installed() == [made]


def test_a_path_is_taken_as_it_is(places: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bundle(tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    assert find("here") == Path("here")
    assert find("./elsewhere") == Path("elsewhere")


def test_without_any_bundle_the_message_is_the_command_that_makes_one(places: Path) -> None:
    with pytest.raises(BundleError) as caught:
        find(None)
    assert str(caught.value).endswith(f"python -m convert kokoro --out {places / 'kokoro'}")


def test_an_unknown_name_lists_what_is_installed(places: Path) -> None:
    make_bundle(places / "one")
    make_bundle(places / "two")
    with pytest.raises(BundleError, match=r"no voice bundle named 'three' .*\(installed: one, two\)"):
        find("three")
    with pytest.raises(BundleError, match="no voice bundle named 'xx"):
        find("x" * 300)


# --- hashes that are remembered -----------------------------------------------------------------------------------------


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files that were read for their hash."""
    paths: list[Path] = []
    real = bundle.sha256
    monkeypatch.setattr(bundle, "sha256", lambda path: (paths.append(path), real(path))[1])
    return paths


def test_a_file_that_has_not_changed_is_not_hashed_again(small: Path, tmp_path: Path, hashed: list[Path]) -> None:
    record = tmp_path / "cache" / "verified.json"
    open_bundle(small, record=record)
    assert sorted(hashed) == [small / "graph.xml", small / "voices" / "ann.npy"]
    open_bundle(small, record=record)
    assert len(hashed) == 2
    open_bundle(small)
    assert len(hashed) == 4, "without a record every file is read"


def test_a_file_that_has_changed_is_hashed_again(small: Path, tmp_path: Path, hashed: list[Path]) -> None:
    record = tmp_path / "verified.json"
    open_bundle(small, record=record)
    before = (small / "graph.xml").stat()
    (small / "graph.xml").write_bytes(b"<grabh/>")
    os.utime(small / "graph.xml", ns=(before.st_atime_ns, before.st_mtime_ns))  # as tools do that keep the time of what they copy
    for _ in range(2):  # and a file that was found damaged is not remembered as right
        with pytest.raises(BundleError, match=r"graph\.xml: its SHA-256 is not the manifest's"):
            open_bundle(small, record=record)


@pytest.mark.parametrize("contents", [b"", b"[1, 2]", b"{", b"\xff\xfe", b'{"x": 3}'])
def test_a_damaged_record_is_made_anew(small: Path, tmp_path: Path, hashed: list[Path], contents: bytes) -> None:
    record = tmp_path / "verified.json"
    record.write_bytes(contents)
    for _ in range(2):
        open_bundle(small, record=record)
    assert len(hashed) == 2


def test_where_no_record_can_be_kept_files_are_hashed_each_time(small: Path, tmp_path: Path, hashed: list[Path]) -> None:
    (tmp_path / "file").write_bytes(b"")
    for _ in range(2):
        open_bundle(small, record=tmp_path / "file" / "verified.json")
    assert len(hashed) == 4


def test_files_that_are_gone_are_forgotten(small: Path, tmp_path: Path) -> None:
    record = tmp_path / "verified.json"
    record.write_text('{"/no/such/graph.xml": [1, 2, 3, "0"]}')
    open_bundle(small, record=record)
    assert set(json.loads(record.read_text())) == {str(small / "graph.xml"), str(small / "voices" / "ann.npy")}
