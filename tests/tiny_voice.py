"""A synthetic Kokoro voice with random parameters, built in a second: it babbles, but through the real code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset15 as op

from convert.kokoro.graphs import GraphBuilder, KokoroConfig
from convert.kokoro.weights import Weights
from edge_tts.bundle import Bundle, Manifest, VoiceEntry, open_bundle, write_manifest
from tests.reading_tables import reading_tables

HIDDEN, STYLE, WIDTH, RESIDUAL, CHANNELS = 16, 8, 24, 4, 16
BERT_EMBEDDING, BERT_WIDTH, BERT_FFN, N_IDS, MAX_FRAMES = 8, 16, 32, 178, 4
SAMPLE_RATE = 24000
CONFIG = KokoroConfig(bert_layers=2, bert_heads=2)
VOICES = (
    VoiceEntry("af_tiny", "en-US", "Apache-2.0", "female"),
    VoiceEntry("bm_tiny", "en-GB", "Apache-2.0", "male"),
    VoiceEntry("zf_tiny", "zh-CN", "Apache-2.0", "female"),
)
_PHONEMES = ";:,.!?—…\"()“” ̃ʣʥʦʨᵝꭧAIOQSTWYᵊabcdefhijklmnopqrstuvwxyzɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽʂʃʈʧʊʋʌɣɤχʎʒʔˈˌːʰʲ↓→↗↘ᵻ"
VOCABULARY = {phoneme: i + 1 for i, phoneme in enumerate(_PHONEMES)}


def tiny_weights(seed: int = 0) -> Weights:
    """Random parameters under the official names, in small sizes."""
    rng = np.random.default_rng(seed)
    weights: Weights = {}

    def add(name: str, *shape: int, scale: float = 0.2) -> None:
        weights[name] = (rng.standard_normal(shape) * scale).astype(np.float32)

    def layer(name: str, n_out: int, n_in: int, *kernel: int, bias: bool = True) -> None:
        add(f"{name}.weight", n_out, n_in, *kernel, scale=1.0 / np.sqrt(n_in * int(np.prod(kernel))))
        if bias:
            add(f"{name}.bias", n_out)

    def lstm(name: str, n_in: int) -> None:
        for suffix in ("_l0", "_l0_reverse"):
            add(f"{name}.weight_ih{suffix}", 2 * HIDDEN, n_in)
            add(f"{name}.weight_hh{suffix}", 2 * HIDDEN, HIDDEN // 2)
            add(f"{name}.bias_ih{suffix}", 2 * HIDDEN)
            add(f"{name}.bias_hh{suffix}", 2 * HIDDEN)

    def residual_block(name: str, n_in: int, n_out: int, *, upsamples: bool = False) -> None:
        layer(f"{name}.norm1.fc", 2 * n_in, STYLE)
        layer(f"{name}.norm2.fc", 2 * n_out, STYLE)
        layer(f"{name}.conv1", n_out, n_in, 3)
        layer(f"{name}.conv2", n_out, n_out, 3)
        if upsamples:
            layer(f"{name}.pool", n_in, 1, 3)
        if n_in != n_out:
            layer(f"{name}.conv1x1", n_out, n_in, 1, bias=False)

    def snake_block(name: str, channels: int, kernel: int) -> None:
        for j in range(3):
            for part in (1, 2):
                layer(f"{name}.adain{part}.{j}.fc", 2 * channels, STYLE)
                layer(f"{name}.convs{part}.{j}", channels, channels, kernel)
                weights[f"{name}.alpha{part}.{j}"] = rng.uniform(0.5, 1.5, (1, channels, 1)).astype(np.float32)

    _bert(weights, layer, add)
    layer("bert_encoder", HIDDEN, BERT_WIDTH)
    for i in (0, 2, 4):
        lstm(f"predictor.text_encoder.lstms.{i}", HIDDEN + STYLE)
        layer(f"predictor.text_encoder.lstms.{i + 1}.fc", 2 * HIDDEN, STYLE)
    lstm("predictor.lstm", HIDDEN + STYLE)
    layer("predictor.duration_proj.linear_layer", MAX_FRAMES, HIDDEN)
    lstm("predictor.shared", HIDDEN + STYLE)
    for curve in ("F0", "N"):
        residual_block(f"predictor.{curve}.0", HIDDEN, HIDDEN)
        residual_block(f"predictor.{curve}.1", HIDDEN, HIDDEN // 2, upsamples=True)
        residual_block(f"predictor.{curve}.2", HIDDEN // 2, HIDDEN // 2)
        layer(f"predictor.{curve}_proj", 1, HIDDEN // 2, 1)
        layer(f"decoder.{curve}_conv", 1, 1, 3)
    weights["predictor.F0_proj.bias"] = np.array([120.0], np.float32)
    add("text_encoder.embedding.weight", N_IDS, HIDDEN)
    for i in range(3):
        layer(f"text_encoder.cnn.{i}.0", HIDDEN, HIDDEN, 5)
        add(f"text_encoder.cnn.{i}.1.gamma", HIDDEN)
        add(f"text_encoder.cnn.{i}.1.beta", HIDDEN)
    lstm("text_encoder.lstm", HIDDEN)
    layer("decoder.asr_res.0", RESIDUAL, HIDDEN, 1)
    residual_block("decoder.encode", HIDDEN + 2, WIDTH)
    for i in range(4):
        last = i == 3
        residual_block(f"decoder.decode.{i}", WIDTH + RESIDUAL + 2, CHANNELS if last else WIDTH, upsamples=last)
    _generator(layer, add, snake_block)
    return weights


def _bert(weights: Weights, layer, add) -> None:
    for name, rows in (("word", N_IDS), ("position", 512), ("token_type", 2)):
        add(f"bert.embeddings.{name}_embeddings.weight", rows, BERT_EMBEDDING)
    block = "bert.encoder.albert_layer_groups.0.albert_layers.0"
    for name, size in (
        ("bert.embeddings.LayerNorm", BERT_EMBEDDING),
        (f"{block}.attention.LayerNorm", BERT_WIDTH),
        (f"{block}.full_layer_layer_norm", BERT_WIDTH),
    ):
        weights[f"{name}.weight"] = np.ones(size, np.float32)
        weights[f"{name}.bias"] = np.zeros(size, np.float32)
    layer("bert.encoder.embedding_hidden_mapping_in", BERT_WIDTH, BERT_EMBEDDING)
    for name in ("query", "key", "value", "dense"):
        layer(f"{block}.attention.{name}", BERT_WIDTH, BERT_WIDTH)
    layer(f"{block}.ffn", BERT_FFN, BERT_WIDTH)
    layer(f"{block}.ffn_output", BERT_WIDTH, BERT_FFN)


def _generator(layer, add, snake_block) -> None:
    bins = CONFIG.n_fft + 2
    channels = CHANNELS
    for i, rate in enumerate(CONFIG.upsample_rates):
        add(f"decoder.generator.ups.{i}.weight", channels, channels // 2, 2 * rate)
        add(f"decoder.generator.ups.{i}.bias", channels // 2)
        channels //= 2
        stride = int(np.prod(CONFIG.upsample_rates[i + 1 :]))
        layer(f"decoder.generator.noise_convs.{i}", channels, bins, 1 if stride == 1 else 2 * stride)
        snake_block(f"decoder.generator.noise_res.{i}", channels, 11 if stride == 1 else 7)
        for j, kernel in enumerate((3, 7, 11)):
            snake_block(f"decoder.generator.resblocks.{3 * i + j}", channels, kernel)
    add("decoder.generator.conv_post.weight", bins, channels, 7, scale=0.005)  # its output is exponentiated
    add("decoder.generator.conv_post.bias", bins, scale=0.1)
    add("decoder.generator.m_source.l_linear.weight", 1, 9)
    add("decoder.generator.m_source.l_linear.bias", 1, scale=0.01)


def write_tiny_bundle(directory: Path, seed: int = 0) -> Bundle:
    """Write the voice as a bundle into an empty directory, which is made if need be."""
    directory.mkdir(parents=True, exist_ok=True)
    weights = tiny_weights(seed)
    builder = GraphBuilder(weights, CONFIG)
    for name, model in (("text", builder.text()), ("prosody", builder.prosody()), ("decoder", builder.decoder())):
        ov.save_model(model, str(directory / f"{name}.xml"), compress_to_fp16=False)
    for accent in ("us", "gb"):
        ov.save_model(spelling_model(), str(directory / f"unknown-words-{accent}.xml"), compress_to_fp16=False)
        alphabet = {"in": "abcdefghijklmnopqrstuvwxyz", "out": "abcdefɡhijklmnopkrstuvwksiz", "maxlen": 32}
        (directory / f"unknown-words-{accent}.json").write_text(json.dumps(alphabet), encoding="utf-8")
    for path in reading_tables().iterdir():
        shutil.copyfile(path, directory / path.name)
    (directory / "voices").mkdir()
    rng = np.random.default_rng(seed)
    for voice in VOICES:
        np.save(directory / "voices" / f"{voice.name}.npy", rng.standard_normal((510, 2 * STYLE)).astype(np.float32))
    write_manifest(directory, _manifest(weights))
    return open_bundle(directory)


def _manifest(weights: Weights) -> Manifest:
    return Manifest(
        family="kokoro",
        name="tiny",
        sample_rate=SAMPLE_RATE,
        languages=("en", "zh"),
        voices=VOICES,
        default_voices={"": "af_tiny", "en": "af_tiny", "zh": "zf_tiny"},
        recipe={"name": "float32"},
        provenance={"sources": [], "tools": {}},
        settings={
            "vocabulary": VOCABULARY,
            "n_fft": CONFIG.n_fft,
            "hop_length": CONFIG.hop_length,
            "samples_per_frame": 2 * int(np.prod(CONFIG.upsample_rates)) * CONFIG.hop_length,
            "source_weight": weights["decoder.generator.m_source.l_linear.weight"].ravel().tolist(),
            "source_bias": float(weights["decoder.generator.m_source.l_linear.bias"][0]),
        },
    )


def spelling_model() -> ov.Model:
    """Reads each letter as the phoneme of the same number."""
    chars = op.parameter([1, -1], ov.Type.i64, name="chars")
    chars.output(0).set_names({"chars"})
    result = op.result(op.add(chars, op.constant(np.array(0, np.int64))))
    result.output(0).set_names({"ids"})
    return ov.Model([result], [chars], "spelling")
