"""From a checkpoint's directory to a bundle: whole or not at all, with every recipe, and errors that name things."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from convert.__main__ import main
from convert.cosyvoice import command
from convert.cosyvoice.command import instructed_voice
from convert.cosyvoice.ranks import fetch_ranks
from convert.cosyvoice.recipes import GRAPHS
from convert.cosyvoice.voices import make_voices
from edge_tts import load_voice
from edge_tts.bundle import open_bundle, staged_directory
from edge_tts.engine import Engine
from edge_tts.errors import BundleError
from edge_tts.models.cosyvoice.model import load
from edge_tts.text.tokenizer import TextTokenizer
from tests.tiny_cosyvoice import write_tiny_bundle
from tests.tiny_cosyvoice_ranks import write_ranks


@pytest.fixture
def tokenizer(tmp_path: Path) -> TextTokenizer:
    write_ranks(tmp_path / "ranks.tiktoken")
    return TextTokenizer.read(tmp_path / "ranks.tiktoken")


def test_the_bundle_says_what_it_is_made_of(tiny_cosyvoice_bundle: Path) -> None:
    manifest = open_bundle(tiny_cosyvoice_bundle).manifest
    assert (manifest.family, manifest.sample_rate) == ("cosyvoice", 22050)
    assert [voice.name for voice in manifest.voices][:2] == ["中文女", "中文男"] and manifest.voices[-1].name == "cheerful"
    assert {voice.language for voice in manifest.voices} == {"zh-CN", "en-US", "ja-JP", "yue-HK", "ko-KR"}
    assert manifest.default_voices["en"] == "英文女" and manifest.default_voices[""] == "中文女"
    assert {source["part"] for source in manifest.provenance["sources"]} >= {"llm.pt", "flow.pt", "hift.pt", "cosyvoice.yaml"}
    assert manifest.recipe["name"] == "float32"


def test_nothing_in_the_bundle_is_pickled(tiny_cosyvoice_bundle: Path) -> None:
    files = {path.suffix for path in tiny_cosyvoice_bundle.rglob("*") if path.is_file()}
    assert files == {".xml", ".bin", ".npz", ".npy", ".json", ".tiktoken"}
    for path in tiny_cosyvoice_bundle.rglob("*.npz"):
        with np.load(path, allow_pickle=False) as arrays:
            assert all(arrays[key].dtype != object for key in arrays.files)


def test_an_int8_bundle_speaks_with_int8_in_the_graphs_of_its_recipe(tiny_cosyvoice_checkpoint: Path, tmp_path: Path) -> None:
    write_tiny_bundle(tiny_cosyvoice_checkpoint, tmp_path, "int8")
    texts = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.xml")}
    quantised = {name for name, text in texts.items() if re.search(r'element_type="[iu]8"', text)}
    assert quantised == set(GRAPHS) - {"length_regulator", "f0_predictor"}
    assert np.load(tmp_path / "positions.npy").dtype == np.int8
    chunks = list(load_voice(tmp_path).synthesize("Hi.", seed=1))
    samples = np.concatenate([chunk.samples for chunk in chunks])
    assert np.isfinite(samples).all() and samples.std() > 0


def test_a_bundle_of_fewer_steps_takes_them(tiny_cosyvoice_checkpoint: Path, tmp_path: Path) -> None:
    write_tiny_bundle(tiny_cosyvoice_checkpoint, tmp_path, "float32", n_steps=5)
    model = load(open_bundle(tmp_path), Engine())
    assert len(list(model.flow.settings.steps())) == 5
    assert sum(chunk.duration_s for chunk in load_voice(tmp_path).synthesize("Hi.", seed=1)) > 0


def test_a_failing_conversion_leaves_nothing_and_keeps_the_old_bundle(
    tiny_cosyvoice_checkpoint: Path, tiny_cosyvoice_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Path(shutil.copytree(tiny_cosyvoice_bundle, tmp_path / "out" / "cosy"))

    def fails(*_: object) -> None:
        raise BundleError("no room")

    monkeypatch.setattr(command, "write_parts", fails)
    with pytest.raises(BundleError, match="no room"), staged_directory(old) as stage:
        write_tiny_bundle(tiny_cosyvoice_checkpoint, stage, "float32")
    assert [path.name for path in old.parent.iterdir()] == ["cosy"]
    open_bundle(old)


def test_a_later_models_directory_is_refused_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cosyvoice2.yaml").touch()
    assert main(["cosyvoice", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "CosyVoice2" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_ranks_file_that_is_not_whispers_is_refused(tmp_path: Path) -> None:
    write_ranks(tmp_path / "other.tiktoken")
    with pytest.raises(BundleError, match=r"other\.tiktoken: SHA-256"):
        fetch_ranks(tmp_path / "other.tiktoken", tmp_path)
    with pytest.raises(BundleError, match="no such file"):
        fetch_ranks(tmp_path / "nothing", tmp_path)


def test_a_stored_prompt_of_the_original_becomes_a_voice(tokenizer: TextTokenizer) -> None:
    stored = {
        "prompt_text": np.array([[5, 6]]), "prompt_text_len": np.array([2]),
        "llm_prompt_speech_token": np.array([[1, 2, 3]]), "llm_prompt_speech_token_len": np.array([3]),
        "flow_prompt_speech_token": np.array([[1, 2, 3]]), "flow_prompt_speech_token_len": np.array([3]),
        "prompt_speech_feat": np.ones((1, 5, 80), np.float32), "prompt_speech_feat_len": np.array([5]),
        "llm_embedding": np.ones((1, 192), np.float32), "flow_embedding": np.full((1, 192), 2, np.float32),
    }  # fmt: skip
    (voice,) = make_voices({"me": stored}, [], tokenizer, 80)
    assert voice.arrays["prompt_text"].tolist() == [5, 6] and voice.arrays["lm_prompt_tokens"].tolist() == [1, 2, 3]
    assert voice.arrays["prompt_mel"].shape == (80, 5)
    assert voice.arrays["lm_speaker"][0] == 1 and voice.arrays["flow_speaker"][0] == 2


@pytest.mark.parametrize(
    ("speakers", "instructed", "named"),
    [
        ({}, [], "no speakers"),
        ({"a": {"other": np.zeros(3)}}, [], "'a' has neither"),
        ({"a": {"embedding": np.zeros((1, 4))}}, [("b", "nobody", "x")], "no speaker 'nobody'"),
        ({"a": {"embedding": np.zeros((1, 4))}}, [("a", "a", "x")], "voice of that name already"),
        ({"a": {"embedding": np.zeros((1, 4)), "prompt_speech_feat": np.zeros((1, 5, 7))}}, [], "7 bands, not 80"),
    ],
)
def test_what_is_wrong_with_voices_is_named(
    tokenizer: TextTokenizer, speakers: dict, instructed: list, named: str
) -> None:
    with pytest.raises(BundleError, match=named):
        make_voices(speakers, instructed, tokenizer, 80)


def test_an_instruction_is_read_in_its_three_parts() -> None:
    assert instructed_voice("fast=中文女:Speak fast: now.") == ("fast", "中文女", "Speak fast: now.")
    with pytest.raises(Exception, match="NAME=SPEAKER:INSTRUCTION"):
        instructed_voice("fast")


def test_speakers_that_are_no_mapping_are_named(tiny_cosyvoice_checkpoint: Path, tmp_path: Path) -> None:
    from convert.cosyvoice.checkpoint import read_speakers

    torch.save({"a": torch.zeros(3)}, tmp_path / "spk2info.pt")
    with pytest.raises(BundleError, match="'a' is no mapping"):
        read_speakers(tmp_path / "spk2info.pt")
