"""`cosyvoice.yaml` as data."""

import shutil
from pathlib import Path

import pytest

from convert.cosyvoice.config import CONFIG_FILE, read_config
from edge_tts.errors import BundleError


@pytest.fixture
def directory(tiny_cosyvoice_checkpoint: Path, tmp_path: Path) -> Path:
    shutil.copyfile(tiny_cosyvoice_checkpoint / CONFIG_FILE, tmp_path / CONFIG_FILE)
    return tmp_path


def edit(directory: Path, old: str, new: str) -> None:
    path = directory / CONFIG_FILE
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_file_of_the_reference_is_read(cosyvoice_reference: Path) -> None:
    config = read_config(cosyvoice_reference / "CosyVoice-tiny-SFT")
    assert (config.sample_rate, config.lm.n_speech_tokens, config.lm.decoder.n_layers) == (22050, 256, 3)
    assert config.lm.text_encoder.causal and not config.flow.encoder.causal
    assert config.lm.sampling.repetition_ratio == 0.1 and config.flow.guidance == 0.7
    assert config.vocoder.dilations == ((1, 3, 5),) * 3


def test_what_the_file_names_is_never_run(directory: Path) -> None:
    bomb = directory / "ran"
    tags = f"seed: !apply:os.mknod ['{bomb}']\nfun: !name:os.system\n    command: touch {bomb}\n"
    edit(directory, "sample_rate:", f"{tags}sample_rate:")
    assert read_config(directory).sample_rate == 22050
    assert not bomb.exists()


def test_python_objects_are_refused(directory: Path) -> None:
    edit(directory, "sample_rate:", "seed: !!python/object/apply:os.getpid []\nsample_rate:")
    with pytest.raises(BundleError, match=r"cosyvoice\.yaml"):
        read_config(directory)


def test_references_are_followed(directory: Path) -> None:
    edit(directory, "spk_embed_dim: 192", "spk_embed_dim: 77")
    assert read_config(directory).lm.speaker_size == 77


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("speech_token_size:", "speech_tokens:", "llm.speech_token_size is missing"),
        ("num_blocks: 2", "num_blocks: two", r"num_blocks is 'two'"),
        ("!ref <spk_embed_dim>", "!ref <nothing>", "!ref <nothing>"),
        ("use_cnn_module: False", "use_cnn_module: True", "use_cnn_module is True"),
        ("rel_pos_espnet", "abs_pos", "pos_enc_layer_type is 'abs_pos'"),
        ("solver: euler", "solver: midpoint", "solver is 'midpoint'"),
        ("sample_rate: 22050", "sample_rate: [", "not readable as YAML"),
        ("llm.TransformerLM", "llm.Qwen2LM", "CosyVoice2"),
        ("flow.MaskedDiffWithXvec", "flow.CausalMaskedDiffWithDiT", "CosyVoice3"),
    ],
)
def test_what_is_wrong_is_named(directory: Path, old: str, new: str, named: str) -> None:
    edit(directory, old, new)
    with pytest.raises(BundleError, match=named):
        read_config(directory)


@pytest.mark.parametrize(("name", "model"), [("cosyvoice2.yaml", "CosyVoice2"), ("cosyvoice3.yaml", "CosyVoice3")])
def test_a_later_models_directory_is_told_apart(tmp_path: Path, name: str, model: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(BundleError, match=f"{model} checkpoint"):
        read_config(tmp_path)


def test_a_directory_without_the_file_and_no_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"cosyvoice\.yaml is missing"):
        read_config(tmp_path)
    with pytest.raises(BundleError, match="no such directory"):
        read_config(tmp_path / "nowhere")
