"""`python -m edge_tts voices`: for people and for programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edge_tts import cli
from edge_tts.bundle import Bundle

ROOT = Path(__file__).parents[2]


def voices(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["voices", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def installed(tiny_bundle: Bundle, own_home: Path) -> Path:
    """The synthetic voice where it is looked for."""
    return Path(shutil.copytree(tiny_bundle.path, own_home / ".local" / "share" / "edge-tts" / "voices" / "tiny"))


def test_a_table_marks_the_voices_that_are_taken_by_default(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = voices(capsys)
    assert status == 0
    assert out.splitlines() == [
        f"{installed}  (tiny, 24000 Hz, speaks en, zh)",
        "* af_tiny  en-US    female   Apache-2.0",
        "  bm_tiny  en-GB    male     Apache-2.0",
        "* zf_tiny  zh-CN    female   Apache-2.0",
    ]


def test_json_is_one_object_for_programs(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = voices(capsys, "--json")
    (bundle,) = json.loads(out)["bundles"]
    assert status == 0
    assert (bundle["path"], bundle["name"], bundle["family"], bundle["sample_rate"]) == (str(installed), "tiny", "kokoro", 24000)
    assert bundle["languages"] == ["en", "zh"]
    assert bundle["default_voices"] == {"": "af_tiny", "en": "af_tiny", "zh": "zf_tiny"}
    assert bundle["voices"][0] == {"name": "af_tiny", "language": "en-US", "license": "Apache-2.0", "description": "female"}


def test_a_bundle_is_named_by_its_name_or_its_path(
    installed: Path, tiny_bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    assert voices(capsys, "--bundle", "tiny")[1].startswith(f"{installed}  ")
    assert voices(capsys, "--bundle", str(tiny_bundle.path))[1].startswith(f"{tiny_bundle.path}  ")


def test_no_bundle_at_all_is_status_66_with_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("edge_tts.bundle.search_path", lambda: [tmp_path / "voices"])
    status, out, err = voices(capsys)
    assert (status, out) == (66, "")
    assert err.endswith(f"python -m convert kokoro --out {tmp_path / 'voices' / 'kokoro'}\n")


def test_a_damaged_bundle_is_named(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (installed / "manifest.json").write_text("{")
    status, out, err = voices(capsys)
    assert (status, out) == (66, "") and f"{installed / 'manifest.json'} is not valid JSON" in err


def test_a_reader_that_leaves_is_no_error(installed: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "edge_tts", "voices"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None and process.stderr is not None
    with process:
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode in (0, 141) and errors == b""
