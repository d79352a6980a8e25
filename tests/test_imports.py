"""What importing and speaking load, seen from a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edge_tts.bundle import Bundle

ROOT = Path(__file__).parents[1]
# Conversion and tests need these; speaking must not, or a small box carries gigabytes.
NEVER = {
    "torch", "nncf", "onnx", "onnxruntime", "convert", "scipy", "transformers", "tqdm", "hibari", "misaki", "jieba", "pypinyin",
    "openvino_telemetry",
}  # fmt: skip


def run(code: str, *, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd="/", check=False)


def loaded(code: str) -> set[str]:
    """Top-level names of the modules that are there after `code`."""
    names = "sorted({name.split('.')[0] for name, module in sys.modules.items() if module is not None})"
    done = run(f"{code}\nimport json, sys\nprint(json.dumps({names}))")
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_speaking_two_languages_loads_nothing_that_conversion_needs(tiny_bundle: Bundle) -> None:
    code = f"""
from edge_tts import load_voice
voice = load_voice({str(tiny_bundle.path)!r})
text = "Hello, this is a quixotrial test. 你好，世界。这个 program 很快。"
assert sum(len(chunk.samples) for chunk in voice.synthesize(text)) > 24000
"""
    modules = loaded(code)
    assert "openvino" in modules
    assert modules & NEVER == set()


@pytest.mark.parametrize("module", ["edge_tts", "edge_tts.cli", "edge_tts.client", "edge_tts.bundle", "edge_tts.text.frontend"])
def test_importing_does_not_load_the_engine_or_a_phonemiser(module: str) -> None:
    modules = loaded(f"import {module}")
    assert "edge_tts" in modules
    assert not modules & {"openvino", "soundfile", *NEVER}


def test_importing_the_engine_loads_openvino_alone() -> None:
    assert not loaded("import edge_tts.engine") & NEVER


def test_the_model_converter_can_still_be_had_after_the_engine() -> None:
    done = run("import edge_tts.engine; from openvino.tools.ovc import convert_model; print(convert_model.__name__)")
    assert done.stdout == "convert_model\n", done.stderr


def test_importing_configures_no_logging() -> None:
    code = "import logging, edge_tts, edge_tts.engine, edge_tts.models.kokoro; assert not logging.getLogger().handlers"
    assert run(code).returncode == 0


def test_the_documented_names_are_there() -> None:
    done = run("import edge_tts; print(all(hasattr(edge_tts, name) for name in edge_tts.__all__), edge_tts.load_voice.__name__)")
    assert done.stdout == "True load_voice\n"


def test_the_cloud_client_of_the_same_name_is_a_clear_error(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "edge_tts", tmp_path / "edge_tts", ignore=shutil.ignore_patterns("__pycache__"))
    assert run("import edge_tts; print(edge_tts.__file__)", path=tmp_path).stdout == f"{tmp_path}/edge_tts/__init__.py\n"
    (tmp_path / "edge_tts" / "communicate.py").write_text("")
    done = run("import edge_tts", path=tmp_path)
    last_line = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and last_line.startswith("ImportError: the package 'edge-tts'")
    assert last_line.endswith("pip uninstall -y edge-tts edge-tts-openvino && pip install edge-tts-openvino")
