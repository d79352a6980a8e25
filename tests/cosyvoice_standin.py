"""Writes a random CosyVoice checkpoint in the official layout with the parameter names and shapes of a table.

    python tests/cosyvoice_standin.py TABLE.json OUT_DIR [--seed N]

The table is `{"llm" | "flow" | "hift": {parameter name: shape}}`. All sizes, those in `cosyvoice.yaml` too, are read off its
shapes; what shapes cannot tell (head size of the estimator, constants of the source) is as in the published configuration.
What comes out sounds like noise: it stands in for the real weights where speed, memory and size are measured.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from pathlib import Path

import torch

ESTIMATOR_HEAD_SIZE = 64
SPEAKERS = ("中文女", "中文男", "日语男", "粤语女", "英文女", "英文男", "韩语女")
Shapes = dict[str, list[int]]


def write_checkpoint(table: dict[str, Shapes], directory: Path, seed: int = 0) -> None:
    """Write `llm.pt`, `flow.pt`, `hift.pt`, `spk2info.pt` and `cosyvoice.yaml` into `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    for name, shapes in table.items():
        torch.save(random_parameters(shapes, generator), directory / f"{name}.pt")
    size = table["llm"]["spk_embed_affine_layer.weight"][1]
    speakers = {name: {"embedding": torch.randn(1, size, generator=generator)} for name in SPEAKERS}
    torch.save(speakers, directory / "spk2info.pt")
    (directory / "cosyvoice.yaml").write_text(configuration(table), encoding="utf-8")


def random_parameters(shapes: Shapes, generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Parameters that keep activations near unit size: norms at one, matrices by fan-in, weight norms equal to their vectors'."""
    found: dict[str, torch.Tensor] = {}
    for name, shape in shapes.items():
        if name.endswith(("bias", "pos_bias_u", "pos_bias_v")):
            found[name] = 0.02 * torch.randn(shape, generator=generator)
        elif name.endswith("alpha") or len(shape) == 1:
            found[name] = torch.ones(shape)
        elif name.endswith("embedding.weight"):
            found[name] = torch.randn(shape, generator=generator)
        elif not name.endswith("original0"):
            found[name] = torch.randn(shape, generator=generator) / math.sqrt(math.prod(shape[1:]))
    for name, shape in shapes.items():
        if name.endswith("original0"):
            direction = found[name.removesuffix("0") + "1"]
            found[name] = direction.flatten(1).norm(dim=1).reshape(shape)
    return {name: found[name] for name in shapes}


def configuration(table: dict[str, Shapes]) -> str:
    """The text of a `cosyvoice.yaml` that belongs to the table."""
    lm, flow, hift = table["llm"], table["flow"], table["hift"]
    up_kernels = [hift[f"ups.{i}.parametrizations.weight.original1"][2] for i in range(count(hift, r"ups\.(\d+)\."))]
    n_kernels = count(hift, r"resblocks\.(\d+)\.") // len(up_kernels)
    dilations = [[1, 3, 5][: count(hift, rf"resblocks\.{i}\.convs1\.(\d+)\.")] for i in range(n_kernels)]
    estimator = "decoder.estimator."
    inner = flow[f"{estimator}down_blocks.0.1.0.attn1.to_q.weight"][0]
    head_size = min(ESTIMATOR_HEAD_SIZE, inner)
    n_stages = count(flow, re.escape(estimator) + r"down_blocks\.(\d+)\.")
    channels = [flow[f"{estimator}down_blocks.{i}.0.res_conv.weight"][0] for i in range(n_stages)]
    n_blocks = count(flow, re.escape(estimator) + r"mid_blocks\.0\.1\.(\d+)\.")
    n_mid_blocks = count(flow, re.escape(estimator) + r"mid_blocks\.(\d+)\.")
    n_regulator = count(flow, r"length_regulator\.model\.(\d+)\.") // 3
    conformer = "!new:cosyvoice.transformer.encoder.ConformerEncoder"
    return f"""\
sample_rate: 22050
spk_embed_dim: {lm["spk_embed_affine_layer.weight"][1]}
llm: !new:cosyvoice.llm.llm.TransformerLM
    text_token_size: {lm["text_embedding.weight"][0]}
    speech_token_size: {lm["speech_embedding.weight"][0]}
    spk_embed_dim: !ref <spk_embed_dim>
    text_encoder: {conformer}
{encoder(lm, "text_encoder.", "linear", static_chunk=1, extra="use_cnn_module: False, macaron_style: False")}
    llm: !new:cosyvoice.transformer.encoder.TransformerEncoder
{encoder(lm, "llm.", "linear_legacy", static_chunk=1, extra="normalize_before: True")}
    sampling: !name:cosyvoice.utils.common.ras_sampling {{top_p: 0.8, top_k: 25, win_size: 10, tau_r: 0.1}}
flow: !new:cosyvoice.flow.flow.MaskedDiffWithXvec
    output_size: {flow["encoder_proj.weight"][0]}
    spk_embed_dim: !ref <spk_embed_dim>
    vocab_size: {flow["input_embedding.weight"][0]}
    input_frame_rate: 50
    encoder: {conformer}
{encoder(flow, "encoder.", "linear", static_chunk=0, extra="use_cnn_module: False, macaron_style: False")}
    length_regulator: !new:cosyvoice.flow.length_regulator.InterpolateRegulator
        sampling_ratios: {[1] * n_regulator}
    decoder: !new:cosyvoice.flow.flow_matching.ConditionalCFM
        cfm_params: !new:omegaconf.DictConfig
            content: {{solver: euler, t_scheduler: cosine, inference_cfg_rate: 0.7}}
        estimator: !new:cosyvoice.flow.decoder.ConditionalDecoder
            in_channels: {flow[f"{estimator}down_blocks.0.0.res_conv.weight"][1]}
            out_channels: {flow[f"{estimator}final_proj.weight"][0]}
            channels: {channels}
            attention_head_dim: {head_size}
            n_blocks: {n_blocks}
            num_mid_blocks: {n_mid_blocks}
            num_heads: {inner // head_size}
            act_fn: gelu
hift: !new:cosyvoice.hifigan.generator.HiFTGenerator
    in_channels: {hift["conv_pre.parametrizations.weight.original1"][1]}
    base_channels: {hift["conv_pre.bias"][0]}
    nb_harmonics: {hift["m_source.l_linear.weight"][1] - 1}
    nsf_alpha: 0.1
    nsf_sigma: 0.003
    nsf_voiced_threshold: 10
    upsample_rates: {[kernel // 2 for kernel in up_kernels]}
    upsample_kernel_sizes: {up_kernels}
    istft_params: {{n_fft: {hift["conv_post.bias"][0] - 2}, hop_len: {(hift["conv_post.bias"][0] - 2) // 4}}}
    resblock_kernel_sizes: {[kernel(hift, f"resblocks.{i}.") for i in range(n_kernels)]}
    resblock_dilation_sizes: {dilations}
    source_resblock_kernel_sizes: {[kernel(hift, f"source_resblocks.{i}.") for i in range(len(up_kernels))]}
    source_resblock_dilation_sizes: {[[1, 3, 5]] * len(up_kernels)}
    lrelu_slope: 0.1
    audio_limit: 0.99
    f0_predictor: !new:cosyvoice.hifigan.f0_predictor.ConvRNNF0Predictor
        cond_channels: {hift["f0_predictor.classifier.weight"][1]}
"""


def encoder(shapes: Shapes, prefix: str, input_layer: str, *, static_chunk: int, extra: str) -> str:
    """The options of one attention stack, as lines of YAML."""
    size, input_size = shapes[f"{prefix}embed.out.0.weight"]
    options = {
        "input_size": input_size,
        "output_size": size,
        "attention_heads": shapes[f"{prefix}encoders.0.self_attn.pos_bias_u"][0],
        "linear_units": shapes[f"{prefix}encoders.0.feed_forward.w_1.weight"][0],
        "num_blocks": count(shapes, re.escape(prefix) + r"encoders\.(\d+)\."),
        "input_layer": input_layer,
        "pos_enc_layer_type": "rel_pos_espnet",
        "selfattention_layer_type": "rel_selfattn",
        "static_chunk_size": static_chunk,
    }
    lines = [f"{key}: {value}" for key, value in options.items()] + extra.split(", ")
    return "\n".join(" " * 8 + line for line in lines)


def count(shapes: Shapes, pattern: str) -> int:
    """One more than the highest number that the pattern's group takes among the names."""
    return 1 + max(int(match.group(1)) for name in shapes if (match := re.match(pattern, name)))


def kernel(shapes: Shapes, prefix: str) -> int:
    """Kernel size of a residual block."""
    return shapes[f"{prefix}convs1.0.parametrizations.weight.original1"][2]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, metavar="TABLE.json")
    parser.add_argument("out", type=Path, metavar="OUT_DIR")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    write_checkpoint(json.loads(args.table.read_text(encoding="utf-8")), args.out, args.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
