"""Strict loading: the official names and shapes, the variations of real files, and errors that name what is wrong."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from convert.cosyvoice.checkpoint import load_checkpoint, load_parameters
from convert.cosyvoice.config import read_config
from convert.cosyvoice.modules import Flow, SpeechLM, Vocoder
from edge_tts.errors import BundleError
from tests.cosyvoice_standin import configuration


def test_names_and_shapes_are_those_of_the_300m_model(cosyvoice_reference: Path, tmp_path: Path) -> None:
    table = json.loads((cosyvoice_reference / "state_dict_300m.json").read_text(encoding="utf-8"))
    (tmp_path / "cosyvoice.yaml").write_text(configuration(table), encoding="utf-8")
    config = read_config(tmp_path)
    with torch.device("meta"):
        networks = {"llm": SpeechLM(config.lm), "flow": Flow(config.flow), "hift": Vocoder(config.vocoder)}
    for name, network in networks.items():
        assert {key: list(value.shape) for key, value in network.state_dict().items()} == table[name]
    assert [len(network.state_dict()) for network in networks.values()] == [401, 1185, 227]


@pytest.fixture
def directory(tiny_cosyvoice_checkpoint: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_cosyvoice_checkpoint, tmp_path / "checkpoint"))


def change(path: Path, edit: object) -> None:
    data = torch.load(path, weights_only=True)
    torch.save(edit(data), path)  # type: ignore[operator]


def vocoder_parameters(directory: Path) -> dict[str, torch.Tensor]:
    """Copies, because the file that they are mapped from is going to be overwritten."""
    with torch.device("meta"):
        vocoder = Vocoder(read_config(directory).vocoder)
    load_parameters(vocoder, directory / "hift.pt")
    return {key: value.clone() for key, value in vocoder.state_dict().items()}


def old_weight_norm(data: dict) -> dict:
    def renamed(key: str) -> str:
        key = key.replace("parametrizations.weight.original0", "weight_g")
        return key.replace("parametrizations.weight.original1", "weight_v")

    return {renamed(key): value for key, value in data.items()}


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: {f"generator.{key}": value for key, value in data.items()},
        lambda data: {**data, "epoch": 200, "step": 123456},
        old_weight_norm,
        lambda data: {f"generator.{key}": value for key, value in old_weight_norm(data).items()} | {"epoch": 3, "step": 7},
    ],
    ids=["generator prefix", "training entries", "old weight norm", "all of them"],
)
def test_every_variation_of_real_files_loads_the_same(directory: Path, edit: object) -> None:
    plain = vocoder_parameters(directory)
    change(directory / "hift.pt", edit)
    for key, value in vocoder_parameters(directory).items():
        assert torch.equal(value, plain[key]), key


def test_half_precision_and_older_files_load(directory: Path) -> None:
    plain = vocoder_parameters(directory)
    data = torch.load(directory / "hift.pt", weights_only=True)
    torch.save({key: value.half() for key, value in data.items()}, directory / "hift.pt", _use_new_zipfile_serialization=False)
    for key, value in vocoder_parameters(directory).items():
        assert value.dtype == torch.float32
        torch.testing.assert_close(value, plain[key], atol=1e-3, rtol=1e-3)


def test_weights_are_mapped_not_read(directory: Path) -> None:
    checkpoint = load_checkpoint(directory)
    mapped = Path("/proc/self/maps").read_text(encoding="utf-8")
    assert all(f"{directory}/{name}" in mapped for name in ("llm.pt", "flow.pt", "hift.pt"))
    assert checkpoint.lm.text_embedding.weight.shape[0] == checkpoint.config.lm.n_text_tokens


def without(name: str) -> Callable[[dict], dict]:
    return lambda data: {key: value for key, value in data.items() if key != name}


@pytest.mark.parametrize(
    ("file", "edit", "named"),
    [
        ("flow.pt", without("encoder_proj.bias"), r"flow\.pt misses parameters: encoder_proj.bias"),
        ("llm.pt", lambda d: {**d, "llm.extra": torch.zeros(2)}, r"llm\.pt has unknown parameters: llm.extra"),
        ("llm.pt", lambda d: {**d, "llm_decoder.bias": torch.zeros(3)}, r"llm_decoder.bias \(\[3\] instead of \[65\]\)"),
        ("hift.pt", lambda d: {**d, "conv_pre.bias": "text"}, r"hift\.pt: entry 'conv_pre.bias' is no tensor"),
        ("hift.pt", lambda d: {**d, "generator.conv_pre.bias": d["conv_pre.bias"]}, r"conv_pre.bias is there twice"),
        ("flow.pt", lambda d: list(d.values()), r"flow\.pt holds a list"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_named(directory: Path, file: str, edit: object, named: str) -> None:
    change(directory / file, edit)
    with pytest.raises(BundleError, match=named):
        load_checkpoint(directory)


@pytest.mark.parametrize("file", ["llm.pt", "flow.pt", "hift.pt"])
def test_a_missing_and_a_cut_file_are_named(directory: Path, file: str) -> None:
    path = directory / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(BundleError, match=f"{file} cannot be read"):
        load_checkpoint(directory)
    path.unlink()
    with pytest.raises(BundleError, match=f"{file} is missing"):
        load_checkpoint(directory)


def test_a_pickle_that_would_run_code_is_refused(directory: Path, tmp_path: Path) -> None:
    import pickle

    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self) -> tuple:
            return (Path.touch, (marker,))

    (directory / "hift.pt").write_bytes(pickle.dumps({"a": Bomb()}, protocol=2))
    with pytest.raises(BundleError, match=r"hift\.pt cannot be read"):
        load_checkpoint(directory)
    assert not marker.exists()


def test_a_checkpoint_without_speakers_has_none(directory: Path) -> None:
    (directory / "spk2info.pt").unlink()
    assert load_checkpoint(directory).speakers == {}
