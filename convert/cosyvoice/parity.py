"""Compare a CosyVoice checkpoint's networks, stage by stage, with outputs of the reference implementation.

Every stage is fed the golden inputs and run twice: by the torch modules, and by the float32 graphs through the runtime's own
stages. A row fails when the largest absolute error exceeds its tolerance; the exit status is 1 when any does. GOLDENS.npz holds
the keys that the project's reference data has, of any sizes.

The steps of the flow's ODE are each taken from the golden state before them. What comes of running all steps from the noise is
shown as "free-running", and judged only if the network allows it: where a change of 1e-7 in the noise already changes the mel by
more than a tenth of its tolerance (random weights do that), no two float32 implementations can agree.

example:
  python -m convert parity CosyVoice-tiny-SFT goldens.npz
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from convert.cosyvoice.checkpoint import Checkpoint, load_checkpoint
from convert.cosyvoice.command import save, settings, tables
from convert.cosyvoice.export import position_tables, stages
from convert.cosyvoice.modules import time_features
from convert.cosyvoice.recipes import RECIPES
from edge_tts.engine import Engine
from edge_tts.errors import BundleError
from edge_tts.models.cosyvoice.flow import Condition, Flow, FlowSettings, FlowVoice
from edge_tts.models.cosyvoice.sampling import SamplingSettings, log_softmax, nucleus
from edge_tts.models.cosyvoice.speech_lm import LMTables, SpeechLM
from edge_tts.models.cosyvoice.vocoder import Vocoder, VocoderSettings

Array = NDArray[Any]
Goldens = Mapping[str, Array]
TOLERANCE, MEL_TOLERANCE, WAVEFORM_TOLERANCE = 2e-4, 5e-4, 2e-3
FREE = ", free-running"
LM_MODES, FLOW_MODES = ("sft", "zero_shot", "instruct"), ("sft", "zero_shot")


@dataclass(frozen=True)
class Row:
    """One comparison. `peak` is the largest absolute golden value, to judge the error by."""

    stage: str
    engine: str
    error: float
    tolerance: float
    peak: float
    judged: bool = True

    @property
    def passes(self) -> bool:
        return not self.judged or self.error <= self.tolerance  # false for NaN

    @property
    def verdict(self) -> str:
        if not self.judged:
            return "not judged"
        return "ok" if self.passes else "FAILS"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT_DIR", help="a directory in the official layout")
    parser.add_argument("goldens", type=Path, metavar="GOLDENS.npz", help="the reference implementation's outputs for it")


def run(args: argparse.Namespace) -> int:
    """Print the table; 1 when a stage fails."""
    rows = list(compare(args.checkpoint, args.goldens))
    width = max(len(row.stage) for row in rows)
    print(f"{'stage':{width}}  engine    max error  tolerance       peak  verdict")
    for row in rows:
        print(f"{row.stage:{width}}  {row.engine:8}  {row.error:9.2e}  {row.tolerance:9.0e}  {row.peak:9.2e}  {row.verdict}")
    failed = sum(not row.passes for row in rows)
    skipped = sum(not row.judged for row in rows)
    print(f"{len(rows)} comparisons, {failed} failed, {skipped} not judged")
    return 1 if failed else 0


def compare(checkpoint_path: Path, goldens_path: Path) -> Iterator[Row]:
    """All rows, torch and openvino for every stage."""
    goldens = read_goldens(goldens_path)
    checkpoint = load_checkpoint(checkpoint_path)
    with torch.inference_mode():
        reference = dict(_torch_outputs(checkpoint, goldens))
    with tempfile.TemporaryDirectory(prefix="edge-tts-") as scratch:
        runtime = _Runtime(checkpoint, Path(scratch))
        computed = dict(runtime.outputs(goldens))
        sensitive = {mode: runtime.sensitivity(f"flow.{mode}", goldens) > MEL_TOLERANCE / 10 for mode in FLOW_MODES}
    for stage in reference:
        key = stage.removesuffix(FREE)
        wanted = goldens[key]
        peak = float(np.abs(wanted).max(initial=0.0))
        for engine, found in (("torch", reference[stage]), ("openvino", computed[stage])):
            judged = stage == key or not sensitive[key.split(".")[1]]
            yield Row(stage, engine, max_error(found, wanted), tolerance_of(key), peak, judged)


def read_goldens(path: Path) -> dict[str, Array]:
    """All arrays of the file; BundleError when it is none or lacks a key."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            goldens = {key: arrays[key] for key in arrays.files}
    except (OSError, ValueError, EOFError) as error:
        raise BundleError(f"{path}: not readable as .npz ({error})") from None
    missing = [key for key in required_keys() if key not in goldens]
    if missing:
        raise BundleError(f"{path} lacks {', '.join(missing)}")
    return goldens


def required_keys() -> list[str]:
    """Every key that a comparison reads, but for the sampling cases, of which there can be any number."""
    lm = ["text", "prompt_text", "prompt_speech_token", "speaker_embedding", "forced_tokens"]
    lm += [f"{mode}.{key}" for mode in LM_MODES for key in ("text_encoder_out", "text_affine_out", "lm_input", "log_probs")]
    call = [f"estimator_call4.{key}" for key in ("x", "mu", "t", "speaker", "cond", "out")]
    flow = ["token", "prompt_token", "prompt_feat", "speaker_projection", "encoder_out", "mu", "noise", "t_span", *call]
    flow += ["x_before_each_step", "mel_with_prompt", "mel"]
    hift = ["mel", "f0", "source_f0", "source", "source_stft_real", "source_stft_imag", "wav"]
    return [
        *(f"llm.{key}" for key in lm),
        *(f"flow.{mode}.{key}" for mode in FLOW_MODES for key in flow),
        *(f"hift.{key}" for key in hift),
    ]


def tolerance_of(stage: str) -> float:
    """The largest error that a stage may have; candidates of sampling must be the same."""
    if stage.endswith(".nucleus"):
        return 0.0
    if stage == "hift.wav":
        return WAVEFORM_TOLERANCE
    return MEL_TOLERANCE if stage.endswith((".mel", ".mel_with_prompt")) else TOLERANCE


def max_error(found: Array, wanted: Array) -> float:
    """Largest absolute difference; infinite when shapes differ."""
    if found.shape != wanted.shape:
        return float("inf")
    return float(np.abs(found.astype(np.float64) - wanted).max(initial=0.0))


def _sampling_cases(goldens: Goldens) -> list[str]:
    return sorted(key.removesuffix(".log_probs") for key in goldens if key.startswith("sampling.") and key.endswith(".log_probs"))


def _torch_outputs(checkpoint: Checkpoint, goldens: Goldens) -> Iterator[tuple[str, Array]]:
    given = {key: torch.from_numpy(np.ascontiguousarray(value)) for key, value in goldens.items()}
    lm, vocoder = checkpoint.lm, checkpoint.vocoder
    no_prompt = given["llm.prompt_speech_token"][:, :0]
    for mode in LM_MODES:
        text = given["llm.text"]
        if mode != "sft":
            text = torch.cat([given["llm.prompt_text"], text], dim=1)
        encoded, projected = lm.encode_text(text)
        speaker = None if mode == "instruct" else given["llm.speaker_embedding"]
        prefix = lm.prefix(projected, speaker, given["llm.prompt_speech_token"] if mode == "zero_shot" else no_prompt)
        yield f"llm.{mode}.text_encoder_out", encoded.numpy()
        yield f"llm.{mode}.text_affine_out", projected.numpy()
        yield f"llm.{mode}.lm_input", prefix.numpy()
        yield f"llm.{mode}.log_probs", lm.log_probabilities(prefix, given["llm.forced_tokens"]).numpy()
    for case in _sampling_cases(goldens):
        # The reference's own arithmetic in torch, as an independent check of the runtime's.
        order = torch.sort(given[f"{case}.log_probs"].softmax(0), descending=True, stable=True)
        before = order.values.cumsum(0) - order.values
        settings_ = checkpoint.config.lm.sampling
        count = max(1, int((before[: settings_.top_k] < settings_.top_p).sum()))
        yield f"{case}.nucleus", order.indices[:count].numpy()
    for mode in FLOW_MODES:
        yield from _torch_flow(checkpoint, f"flow.{mode}", given)
    yield "hift.f0", vocoder.f0_predictor(given["hift.mel"]).numpy()
    spectrum = torch.stft(
        given["hift.source"][:, 0], vocoder.config.n_fft, vocoder.config.hop_length,
        window=torch.hann_window(vocoder.config.n_fft), return_complex=True,
    )  # fmt: skip
    yield "hift.source_stft_real", spectrum.real.numpy()
    yield "hift.source_stft_imag", spectrum.imag.numpy()
    yield "hift.wav", vocoder.waveform(given["hift.mel"], given["hift.source"][:, 0]).numpy()


def _torch_flow(checkpoint: Checkpoint, prefix: str, given: Mapping[str, Tensor]) -> Iterator[tuple[str, Array]]:
    flow = checkpoint.flow
    config = FlowSettings(**settings(checkpoint.config, RECIPES["float32"])["flow"])
    prompt, tokens, prompt_mel = (given[f"{prefix}.{key}"] for key in ("prompt_token", "token", "prompt_feat"))
    n_prompt_tokens, n_prompt = prompt.shape[1], prompt_mel.shape[1]
    speaker = flow.project_speaker(given["llm.speaker_embedding"])
    yield f"{prefix}.speaker_projection", speaker.numpy()
    encoded = flow.encoder(flow.input_embedding(torch.cat([prompt, tokens], dim=1)))
    yield f"{prefix}.encoder_out", encoded.numpy()
    projected = flow.encoder_proj(encoded).transpose(1, 2)
    mu = flow.length_regulator(_stretched(projected, n_prompt_tokens, n_prompt, config))
    yield f"{prefix}.mu", mu.numpy()
    # In double precision: a random network amplifies rounding some hundred times, and a reference should add none of its own.
    estimator = copy.deepcopy(flow.decoder.estimator).double()
    call = [given[f"{prefix}.estimator_call4.{key}"] for key in ("x", "mu", "t", "speaker", "cond")]
    call[2] = time_features(call[2], estimator.in_channels)
    call = [part.double() for part in call]
    yield f"{prefix}.estimator_call4.out", estimator(*call).numpy()
    span = torch.linspace(0, 1, config.n_steps + 1)
    span = 1 - torch.cos(span * 0.5 * torch.pi) if config.cosine_schedule else span
    yield f"{prefix}.t_span", span.numpy()

    both = call[1], call[3], call[4]  # mu, speaker, cond of both halves of the batch

    def step(x: Array, time: np.float32, length: np.float32) -> Array:
        state = torch.from_numpy(x)[None].double()
        features = time_features(torch.from_numpy(np.repeat(time, 2)), estimator.in_channels).double()
        out = estimator(torch.cat([state, state]), both[0], features, both[1], both[2]).numpy()
        return x + length * ((1 + config.guidance) * out[0] - config.guidance * out[1])

    yield from _integrated(prefix, {key: value.numpy() for key, value in given.items()}, config, step, n_prompt)


def _integrated(
    prefix: str, goldens: Goldens, config: FlowSettings, step: Callable[[Array, np.float32, np.float32], Array], n_prompt: int
) -> Iterator[tuple[str, Array]]:
    """The flow's results with each step taken from the golden state before it, and with all taken from the noise."""
    noise, states = goldens[f"{prefix}.noise"][0], goldens[f"{prefix}.x_before_each_step"]
    steps = list(config.steps())
    after = [step(state, *taken) for state, taken in zip(states, steps, strict=True)]
    yield f"{prefix}.x_before_each_step", np.stack([noise, *after[:-1]])
    yield f"{prefix}.mel_with_prompt", after[-1][None]
    yield f"{prefix}.mel", after[-1][None, :, n_prompt:]
    x = noise
    for taken in steps:
        x = step(x, *taken)
    yield f"{prefix}.mel_with_prompt{FREE}", x[None]


def _stretched(projected: Tensor, n_prompt_tokens: int, n_prompt: int, config: FlowSettings) -> Tensor:
    """Token rate -> frame rate with torch's own interpolation: prompt, head, middle and tail apart."""

    def stretch(part: Tensor, n_frames: int) -> Tensor:
        return torch.nn.functional.interpolate(part, size=n_frames, mode="linear")

    rest = projected[..., n_prompt_tokens:]
    n_tokens = rest.shape[-1]
    n_frames, edge = config.frames_of(n_tokens), config.frames_of(20)
    parts = [stretch(projected[..., :n_prompt_tokens], n_prompt)] if n_prompt_tokens else []
    if n_tokens > 40:
        parts += [stretch(rest[..., :20], edge), stretch(rest[..., 20:-20], n_frames - 2 * edge), stretch(rest[..., -20:], edge)]
    else:
        parts.append(stretch(rest, n_frames))
    return torch.cat(parts, dim=-1)


def _golden_condition(prefix: str, goldens: Goldens) -> Condition:
    return Condition(*(goldens[f"{prefix}.estimator_call4.{key}"][0] for key in ("mu", "speaker", "cond")))


class _Runtime:
    """The runtime's stages over float32 graphs of the checkpoint."""

    def __init__(self, checkpoint: Checkpoint, directory: Path) -> None:
        engine, graphs = Engine(), {}
        config = settings(checkpoint.config, RECIPES["float32"])
        names = tables(checkpoint)
        positions = position_tables(checkpoint.lm)
        for made in tqdm(stages(checkpoint), desc="graphs", total=7, leave=False):
            path = directory / f"{made.name}.xml"
            save(made.build(), path)
            graphs[made.name] = engine.compile(path, **config["properties"].get(made.name, {}))
        lm_arrays = {name: names[f"lm.{name}"] for name in ("speech", "control", "speaker_weight", "speaker_bias")}
        self._lm = SpeechLM(graphs["text_encoder"], graphs["speech_lm"], LMTables(positions=positions, **lm_arrays))
        flow_arrays = names["flow.speaker_weight"], names["flow.speaker_bias"]
        flow_graphs = graphs["flow_encoder"], graphs["length_regulator"], graphs["estimator"]
        self._flow = Flow(*flow_graphs, *flow_arrays, FlowSettings(**config["flow"]))
        merge = names["vocoder.merge_weight"], float(names["vocoder.merge_bias"])
        self._vocoder = Vocoder(graphs["f0_predictor"], graphs["vocoder"], *merge, VocoderSettings(**config["vocoder"]))
        self._sampling = SamplingSettings(**config["sampling"])

    def outputs(self, goldens: Goldens) -> Iterator[tuple[str, Array]]:
        """What the runtime makes of the golden inputs, by golden key."""
        for mode in LM_MODES:
            yield from self._lm_outputs(mode, goldens)
        for case in _sampling_cases(goldens):
            yield f"{case}.nucleus", nucleus(goldens[f"{case}.log_probs"], self._sampling)
        for mode in FLOW_MODES:
            yield from self._flow_outputs(f"flow.{mode}", goldens)
        yield from self._vocoder_outputs(goldens)

    def _lm_outputs(self, mode: str, goldens: Goldens) -> Iterator[tuple[str, Array]]:
        prompt_text = () if mode == "sft" else goldens["llm.prompt_text"][0]
        prompt_speech = goldens["llm.prompt_speech_token"][0] if mode == "zero_shot" else ()
        speaker = None if mode == "instruct" else goldens["llm.speaker_embedding"][0]
        encoded = self._lm.encode_text([*prompt_text, *goldens["llm.text"][0]])
        prefix = self._lm.prefix(encoded.projected[0], speaker, prompt_speech)
        yield f"llm.{mode}.text_encoder_out", encoded.hidden
        yield f"llm.{mode}.text_affine_out", encoded.projected
        yield f"llm.{mode}.lm_input", prefix[None]
        yield f"llm.{mode}.log_probs", forced(self._lm, prefix, goldens["llm.forced_tokens"].tolist())

    def _flow_outputs(self, prefix: str, goldens: Goldens) -> Iterator[tuple[str, Array]]:
        flow = self._flow
        prompt_mel = np.ascontiguousarray(goldens[f"{prefix}.prompt_feat"][0].T)
        prompt = tuple(int(token) for token in goldens[f"{prefix}.prompt_token"][0])
        voice = FlowVoice(goldens["llm.speaker_embedding"][0], prompt, prompt_mel)
        n_prompt = prompt_mel.shape[1]
        speaker = flow.project_speaker(voice.speaker)
        yield f"{prefix}.speaker_projection", speaker[None]
        encoded = flow.encode([*prompt, *goldens[f"{prefix}.token"][0]])
        yield f"{prefix}.encoder_out", encoded["hidden"]
        mu = flow.condition(encoded["projected"], len(prompt), n_prompt)
        yield f"{prefix}.mu", mu[None]
        call = [goldens[f"{prefix}.estimator_call4.{key}"] for key in ("x", "mu", "t", "speaker", "cond")]
        yield f"{prefix}.estimator_call4.out", flow.direction(*call)
        yield f"{prefix}.t_span", flow.settings.schedule()
        condition = _golden_condition(prefix, goldens)

        def step(x: Array, time: np.float32, length: np.float32) -> Array:
            return x + length * flow.guided(x, time, condition)

        yield from _integrated(prefix, goldens, flow.settings, step, n_prompt)

    def sensitivity(self, prefix: str, goldens: Goldens) -> float:
        """By how much the mel changes when the noise changes by 1e-7 of itself."""
        condition = _golden_condition(prefix, goldens)
        noise = goldens[f"{prefix}.noise"][0]
        mel, changed = (self._flow.solve(x, condition, lambda: False) for x in (noise, noise * np.float32(1 + 1e-7)))
        return max_error(changed, mel)

    def _vocoder_outputs(self, goldens: Goldens) -> Iterator[tuple[str, Array]]:
        mel, source = goldens["hift.mel"][0], goldens["hift.source"][0, 0]
        yield "hift.f0", self._vocoder.f0_hz(mel)[None]
        real, imaginary = np.split(self._vocoder.source_spectrum(source), 2)
        yield "hift.source_stft_real", real[None]
        yield "hift.source_stft_imag", imaginary[None]
        yield "hift.wav", self._vocoder.waveform(mel, source)[None]


def forced(lm: SpeechLM, prefix: NDArray[np.float32], tokens: Sequence[int]) -> Array:
    """Log-probabilities after the prefix and after each of the tokens, one decode step at a time: [tokens + 1, classes]."""
    decoding = lm.decode([prefix])
    rows = [log_softmax(decoding.logits)[0]]
    for token in tokens:
        decoding.step([int(token)])
        rows.append(log_softmax(decoding.logits)[0])
    return np.stack(rows)
