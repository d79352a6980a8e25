"""`cosyvoice.yaml` read as data: sizes and constants, never the objects that its tags name.

The file is HyperPyYAML: `!new:`, `!name:` and `!apply:` name Python objects, `!ref <key>` points to a top-level value. Here a tag
only labels its mapping, so that nothing in the file can run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from edge_tts.errors import BundleError

CONFIG_FILE = "cosyvoice.yaml"
TAG = "tag"  # key under which a mapping keeps the name that its YAML tag gave
_LATER_MODELS = {
    "cosyvoice2.yaml": "CosyVoice2", "cosyvoice3.yaml": "CosyVoice3",
    "Qwen2LM": "CosyVoice2", "CosyVoice3LM": "CosyVoice3", "CausalMaskedDiffWithXvec": "CosyVoice2",
    "CausalMaskedDiffWithDiT": "CosyVoice3",
}  # fmt: skip


@dataclass(frozen=True)
class EncoderConfig:
    """A stack of attention layers with relative positions.

    input_size, size: channels before and after the input layer
    n_layers, n_heads, ffn_size: of the stack
    causal: whether a position sees itself and earlier ones only
    legacy_input: input layer ends with a ReLU (`linear_legacy`)
    conformer: SiLU and the parameter names of a conformer layer; else ReLU and those of a transformer layer
    """

    input_size: int
    size: int
    n_layers: int
    n_heads: int
    ffn_size: int
    causal: bool
    legacy_input: bool
    conformer: bool


@dataclass(frozen=True)
class SamplingConfig:
    """Repetition-aware nucleus sampling."""

    top_p: float
    top_k: int
    window_tokens: int
    repetition_ratio: float


@dataclass(frozen=True)
class SpeechLMConfig:
    """Text tokens -> speech tokens."""

    n_text_tokens: int
    n_speech_tokens: int
    speaker_size: int
    text_encoder: EncoderConfig
    decoder: EncoderConfig
    sampling: SamplingConfig


@dataclass(frozen=True)
class EstimatorConfig:
    """The U-Net that estimates the flow's direction."""

    in_channels: int
    out_channels: int
    channels: tuple[int, ...]
    head_size: int
    n_heads: int
    n_blocks: int
    n_mid_blocks: int


@dataclass(frozen=True)
class FlowConfig:
    """Speech tokens -> mel spectrogram."""

    n_speech_tokens: int
    n_mels: int
    speaker_size: int
    token_rate_hz: int
    encoder: EncoderConfig
    n_regulator_convolutions: int
    estimator: EstimatorConfig
    guidance: float
    cosine_schedule: bool


@dataclass(frozen=True)
class VocoderConfig:
    """Mel spectrogram -> waveform."""

    n_mels: int
    base_channels: int
    n_harmonics: int
    source_amplitude: float
    voiced_noise: float
    voiced_threshold_hz: float
    upsample_rates: tuple[int, ...]
    upsample_kernels: tuple[int, ...]
    n_fft: int
    hop_length: int
    kernels: tuple[int, ...]
    dilations: tuple[tuple[int, ...], ...]
    source_kernels: tuple[int, ...]
    source_dilations: tuple[tuple[int, ...], ...]
    leaky_slope: float
    limit: float
    f0_channels: int


@dataclass(frozen=True)
class CosyVoiceConfig:
    """All sizes of one model."""

    sample_rate: int
    lm: SpeechLMConfig
    flow: FlowConfig
    vocoder: VocoderConfig


class _DataLoader(yaml.SafeLoader):
    """SafeLoader that takes every application tag as a label."""


def _tagged(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {TAG: suffix, **loader.construct_mapping(node, deep=True)}
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return {TAG: suffix, "value": node.value}


_DataLoader.add_multi_constructor("!", _tagged)


def read_yaml(path: Path) -> dict[str, Any]:
    """The file as plain dicts and lists, references resolved; BundleError when it cannot be read as such."""
    try:
        # a subclass of SafeLoader: builds nothing but dicts, lists and scalars
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_DataLoader)
    except FileNotFoundError:
        raise BundleError(f"{path} is missing; give the directory of a CosyVoice-300M checkpoint") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BundleError(f"{path}: not readable as YAML: {error}") from None
    if not isinstance(data, dict):
        raise BundleError(f"{path}: no mapping at its top; is it a {CONFIG_FILE}?")
    return {key: _resolved(value, data, path, ()) for key, value in data.items()}


def _resolved(value: Any, top: dict[str, Any], path: Path, seen: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_resolved(item, top, path, seen) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get(TAG) == "ref":
        match = re.fullmatch(r"<(\w+)>", str(value["value"]))
        name = match.group(1) if match else str(value["value"])
        if name not in top or name in seen:
            raise BundleError(f"{path}: !ref {value['value']} points to nothing that can be read as data")
        return _resolved(top[name], top, path, (*seen, name))
    return {key: _resolved(item, top, path, seen) for key, item in value.items()}


class _Section:
    """A mapping of the file whose entries are read by name and kind; errors name the file and the whole key."""

    def __init__(self, path: Path, name: str, data: Any) -> None:
        if not isinstance(data, dict):
            raise BundleError(f"{path}: {name} is missing or no mapping")
        self._path, self._name, self._data = path, name, data

    def section(self, key: str) -> _Section:
        return _Section(self._path, f"{self._name}.{key}", self._data.get(key))

    @property
    def tag(self) -> str:
        """Last part of the name in the mapping's tag."""
        return str(self._data.get(TAG, "")).rsplit(".", 1)[-1]

    def integer(self, key: str, default: int | None = None) -> int:
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(key, value, "a whole number")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._value(key, default)
        try:
            return float(value)  # YAML 1.1 reads 1e-06 as text
        except (TypeError, ValueError):
            raise self._wrong(key, value, "a number") from None

    def text(self, key: str, default: str | None = None) -> str:
        return str(self._value(key, default))

    def integers(self, key: str) -> tuple[int, ...]:
        value = self._value(key, None)
        if not isinstance(value, list) or not all(isinstance(item, int) for item in value):
            raise self._wrong(key, value, "a list of whole numbers")
        return tuple(value)

    def lists(self, key: str) -> tuple[tuple[int, ...], ...]:
        value = self._value(key, None)
        if not isinstance(value, list) or not all(isinstance(item, list) for item in value):
            raise self._wrong(key, value, "a list of lists")
        return tuple(tuple(int(x) for x in item) for item in value)

    def expect(self, key: str, wanted: Any, default: Any) -> None:
        """BundleError unless the entry has the one value that this converter builds."""
        value = self._data.get(key, default)
        if value != wanted:
            raise BundleError(f"{self._path}: {self._name}.{key} is {value!r}; only {wanted!r} is supported")

    def _value(self, key: str, default: Any) -> Any:
        value = self._data.get(key, default)
        if value is None:
            raise BundleError(f"{self._path}: {self._name}.{key} is missing")
        return value

    def _wrong(self, key: str, value: Any, wanted: str) -> BundleError:
        return BundleError(f"{self._path}: {self._name}.{key} is {value!r}, not {wanted}")


def read_config(directory: Path) -> CosyVoiceConfig:
    """Sizes of the checkpoint in `directory`; BundleError names what is missing, wrong, or of another model."""
    if not directory.is_dir():
        raise BundleError(f"{directory}: no such directory; give the directory of a CosyVoice-300M checkpoint")
    for name, model in _LATER_MODELS.items():
        if name.endswith(".yaml") and (directory / name).exists():
            raise BundleError(f"{directory}: {name} makes this a {model} checkpoint; only CosyVoice-300M (1) is supported")
    path = directory / CONFIG_FILE
    data = read_yaml(path)
    for key in ("llm", "flow"):
        tag = _Section(path, key, data.get(key)).tag
        if tag in _LATER_MODELS:
            raise BundleError(f"{path}: {key} is a {tag}, so this is {_LATER_MODELS[tag]}; only CosyVoice-300M (1) is supported")
    top = _Section(path, "top level", data)
    sample_rate = top.integer("sample_rate")
    return CosyVoiceConfig(
        sample_rate,
        _lm(_Section(path, "llm", data["llm"])),
        _flow(_Section(path, "flow", data["flow"])),
        _vocoder(_Section(path, "hift", data.get("hift"))),
    )


def _encoder(section: _Section) -> EncoderConfig:
    conformer = section.tag == "ConformerEncoder"
    if not conformer and section.tag != "TransformerEncoder":
        raise section._wrong("tag", section.tag, "ConformerEncoder or TransformerEncoder")
    section.expect("normalize_before", True, True)
    section.expect("pos_enc_layer_type", "rel_pos_espnet", None)
    section.expect("selfattention_layer_type", "rel_selfattn", "rel_selfattn" if conformer else "selfattn")
    if conformer:
        section.expect("use_cnn_module", False, True)
        section.expect("macaron_style", False, True)
        section.expect("use_dynamic_chunk", False, False)
    input_layer = section.text("input_layer")
    if input_layer not in ("linear", "linear_legacy"):
        raise section._wrong("input_layer", input_layer, "'linear' or 'linear_legacy'")
    chunk = section.integer("static_chunk_size", 0)
    if chunk not in (0, 1):
        raise section._wrong("static_chunk_size", chunk, "0 or 1")
    return EncoderConfig(
        input_size=section.integer("input_size"),
        size=section.integer("output_size", 256),
        n_layers=section.integer("num_blocks", 6),
        n_heads=section.integer("attention_heads", 4),
        ffn_size=section.integer("linear_units", 2048),
        causal=chunk == 1,
        legacy_input=input_layer == "linear_legacy",
        conformer=conformer,
    )


def _lm(section: _Section) -> SpeechLMConfig:
    sampling = section.section("sampling")
    return SpeechLMConfig(
        n_text_tokens=section.integer("text_token_size"),
        n_speech_tokens=section.integer("speech_token_size"),
        speaker_size=section.integer("spk_embed_dim", 192),
        text_encoder=_encoder(section.section("text_encoder")),
        decoder=_encoder(section.section("llm")),
        sampling=SamplingConfig(
            top_p=sampling.number("top_p", 0.8),
            top_k=sampling.integer("top_k", 25),
            window_tokens=sampling.integer("win_size", 10),
            repetition_ratio=sampling.number("tau_r", 0.1),
        ),
    )


def _flow(section: _Section) -> FlowConfig:
    decoder = section.section("decoder")
    estimator = decoder.section("estimator")
    estimator.expect("act_fn", "gelu", None)
    matching = decoder.section("cfm_params").section("content")
    matching.expect("solver", "euler", "euler")
    ratios = section.section("length_regulator").integers("sampling_ratios")
    return FlowConfig(
        n_speech_tokens=section.integer("vocab_size"),
        n_mels=section.integer("output_size", 80),
        speaker_size=section.integer("spk_embed_dim", 192),
        token_rate_hz=section.integer("input_frame_rate", 50),
        encoder=_encoder(section.section("encoder")),
        n_regulator_convolutions=len(ratios),
        estimator=EstimatorConfig(
            in_channels=estimator.integer("in_channels"),
            out_channels=estimator.integer("out_channels"),
            channels=estimator.integers("channels"),
            head_size=estimator.integer("attention_head_dim"),
            n_heads=estimator.integer("num_heads"),
            n_blocks=estimator.integer("n_blocks"),
            n_mid_blocks=estimator.integer("num_mid_blocks"),
        ),
        guidance=matching.number("inference_cfg_rate"),
        cosine_schedule=matching.text("t_scheduler", "linear") == "cosine",
    )


def _vocoder(section: _Section) -> VocoderConfig:
    transform = section.section("istft_params")
    return VocoderConfig(
        n_mels=section.integer("in_channels"),
        base_channels=section.integer("base_channels"),
        n_harmonics=section.integer("nb_harmonics"),
        source_amplitude=section.number("nsf_alpha"),
        voiced_noise=section.number("nsf_sigma"),
        voiced_threshold_hz=section.number("nsf_voiced_threshold"),
        upsample_rates=section.integers("upsample_rates"),
        upsample_kernels=section.integers("upsample_kernel_sizes"),
        n_fft=transform.integer("n_fft"),
        hop_length=transform.integer("hop_len"),
        kernels=section.integers("resblock_kernel_sizes"),
        dilations=section.lists("resblock_dilation_sizes"),
        source_kernels=section.integers("source_resblock_kernel_sizes"),
        source_dilations=section.lists("source_resblock_dilation_sizes"),
        leaky_slope=section.number("lrelu_slope"),
        limit=section.number("audio_limit"),
        f0_channels=section.section("f0_predictor").integer("cond_channels", 512),
    )
