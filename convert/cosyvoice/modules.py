"""CosyVoice-300M's networks in torch, for inference only: the reference that the exported graphs are compared with.

Names and shapes of all parameters equal the official checkpoint's. Sources of the arithmetic: FunAudioLLM/CosyVoice and
shivammehta25/Matcha-TTS (Apache-2.0 and MIT); relative attention: Dai 2019 (Transformer-XL); U-Net and flow matching:
Mehta 2024 (Matcha-TTS); vocoder: Li 2023 (HiFTNet).
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm

from convert.cosyvoice.config import EncoderConfig, EstimatorConfig, FlowConfig, SpeechLMConfig, VocoderConfig
from edge_tts import signal

SOS, TASK = 0, 1  # rows of llm_embedding
_LAYER_EPS = 1e-12


def sinusoidal_positions(distances: Tensor, size: int) -> Tensor:
    """Sine and cosine of each distance at `size / 2` wavelengths, interleaved: [n] -> [n, size]."""
    rates = torch.exp(torch.arange(0, size, 2, dtype=torch.float32) * -(math.log(10000.0) / size))
    angles = distances.to(torch.float32)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def distances_of(n: int, *, causal: bool) -> Tensor:
    """Distances query - key that `n` positions have among them, descending: n-1..0, or n-1..-(n-1) when not causal."""
    return torch.arange(n - 1, -1 if causal else -n, -1)


class RelativeAttention(nn.Module):
    """Self-attention with a learnt bias by distance.

    score(i, j) = ((q_i + u) . k_j + (q_i + v) . p_(i-j)) / sqrt(head size), p = linear_pos(sinusoids)
    """

    def __init__(self, size: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads, self.head_size = n_heads, size // n_heads
        self.linear_q, self.linear_k, self.linear_v, self.linear_out = (nn.Linear(size, size) for _ in range(4))
        self.linear_pos = nn.Linear(size, size, bias=False)
        self.pos_bias_u = nn.Parameter(torch.empty(n_heads, self.head_size))
        self.pos_bias_v = nn.Parameter(torch.empty(n_heads, self.head_size))

    def forward(self, x: Tensor, positions: Tensor, causal_bias: Tensor | None) -> Tensor:
        """x: [batch, n, size]; positions: [n or 2n-1, size], by falling distance; causal_bias: [n, n] -> [batch, n, size]."""
        q, k, v = (self._heads(linear(x)) for linear in (self.linear_q, self.linear_k, self.linear_v))
        p = self.linear_pos(positions).unflatten(-1, (self.n_heads, self.head_size)).permute(1, 2, 0)  # [heads, 64, w]
        by_distance = (q + self.pos_bias_v[:, None]) @ p  # [batch, heads, n, w]
        bias = shift_by_query(by_distance) * self.head_size**-0.5
        if causal_bias is not None:
            bias = bias + causal_bias
        out = functional.scaled_dot_product_attention(q + self.pos_bias_u[:, None], k, v, attn_mask=bias)
        return self.linear_out(out.transpose(1, 2).flatten(2))

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.n_heads, self.head_size)).transpose(1, 2)


def shift_by_query(by_distance: Tensor) -> Tensor:
    """Scores by falling distance -> scores by key: row i moves left by n-1-i.

    [..., n, w] -> [..., n, n]. With one column of padding the rows lie w + 1 apart in memory; read w apart from element n-1 on,
    they come out shifted.
    """
    n, width = by_distance.shape[-2:]
    flat = functional.pad(by_distance, (0, 1)).flatten(-2)
    return flat[..., n - 1 : n - 1 + n * width].unflatten(-1, (n, width))[..., :n]


class FeedForward(nn.Module):
    """Two linear layers with an activation between."""

    def __init__(self, size: int, inner_size: int, activation: nn.Module) -> None:
        super().__init__()
        self.w_1, self.w_2, self.activation = nn.Linear(size, inner_size), nn.Linear(inner_size, size), activation

    def forward(self, x: Tensor) -> Tensor:
        return self.w_2(self.activation(self.w_1(x)))


class EncoderLayer(nn.Module):
    """Pre-norm attention and feed-forward. The two official layers differ in names and activation only."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.names = ("norm_mha", "norm_ff") if config.conformer else ("norm1", "norm2")
        self.self_attn = RelativeAttention(config.size, config.n_heads)
        self.feed_forward = FeedForward(config.size, config.ffn_size, nn.SiLU() if config.conformer else nn.ReLU())
        for name in self.names:
            self.add_module(name, nn.LayerNorm(config.size, eps=_LAYER_EPS))

    def norms(self) -> tuple[nn.LayerNorm, nn.LayerNorm]:
        """The norms before attention and before the feed-forward layers."""
        attention, feed_forward = (getattr(self, name) for name in self.names)
        return attention, feed_forward

    def forward(self, x: Tensor, positions: Tensor, causal_bias: Tensor | None) -> Tensor:
        norm_attention, norm_feed_forward = self.norms()
        x = x + self.self_attn(norm_attention(x), positions, causal_bias)
        return x + self.feed_forward(norm_feed_forward(x))


class InputLayer(nn.Module):
    """Linear, LayerNorm and, in the legacy form, ReLU."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        layers = [nn.Linear(config.input_size, config.size), nn.LayerNorm(config.size, eps=1e-5)]
        self.out = nn.Sequential(*layers, *([nn.ReLU()] if config.legacy_input else []))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x)


class Encoder(nn.Module):
    """Input layer, scaled by sqrt(size); attention layers; LayerNorm."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = InputLayer(config)
        self.encoders = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))
        self.after_norm = nn.LayerNorm(config.size, eps=1e-5)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """x: [batch, n, input size] -> [batch, n, size]; `positions` as in `RelativeAttention`, made here when not given."""
        n = x.shape[1]
        if positions is None:
            positions = sinusoidal_positions(distances_of(n, causal=self.config.causal), self.config.size)
        causal_bias = None
        if self.config.causal:
            order = torch.arange(n)
            causal_bias = torch.where(order[None, :] > order[:, None], -1e9, 0.0)
        x = self.embed(x) * math.sqrt(self.config.size)
        for layer in self.encoders:
            x = layer(x, positions, causal_bias)
        return self.after_norm(x)


class SpeechLM(nn.Module):
    """Text tokens -> log-probabilities of speech tokens."""

    def __init__(self, config: SpeechLMConfig) -> None:
        super().__init__()
        size = config.decoder.input_size
        self.config = config
        self.text_embedding = nn.Embedding(config.n_text_tokens, config.text_encoder.input_size)
        self.text_encoder = Encoder(config.text_encoder)
        self.text_encoder_affine_layer = nn.Linear(config.text_encoder.size, size)
        self.llm_embedding = nn.Embedding(2, size)
        self.llm = Encoder(config.decoder)
        self.llm_decoder = nn.Linear(config.decoder.size, config.n_speech_tokens + 1)
        self.speech_embedding = nn.Embedding(config.n_speech_tokens, size)
        self.spk_embed_affine_layer = nn.Linear(config.speaker_size, size)

    def encode_text(self, text: Tensor) -> tuple[Tensor, Tensor]:
        """text: [1, n] -> the encoder's output and its projection, each [1, n, size]."""
        encoded = self.text_encoder(self.text_embedding(text))
        return encoded, self.text_encoder_affine_layer(encoded)

    def prefix(self, text: Tensor, speaker: Tensor | None, prompt_speech: Tensor) -> Tensor:
        """What the decoder reads before its first token: [1, n, size].

        text: [1, n, size] projected; speaker: [1, speaker size] or None; prompt_speech: [1, p]
        """
        control = self.llm_embedding.weight[:, None, None]
        parts = [control[SOS], text, control[TASK], self.speech_embedding(prompt_speech)]
        if speaker is not None:
            parts.insert(1, self.spk_embed_affine_layer(functional.normalize(speaker, dim=1))[:, None])
        return torch.cat(parts, dim=1)

    def log_probabilities(self, prefix: Tensor, tokens: Tensor) -> Tensor:
        """After the prefix and after each of `tokens` [t]: [t + 1, classes]."""
        hidden = self.llm(torch.cat([prefix, self.speech_embedding(tokens)[None]], dim=1))
        return functional.log_softmax(self.llm_decoder(hidden[0, prefix.shape[1] - 1 :]), dim=-1)


def time_features(time: Tensor, size: int) -> Tensor:
    """Sines and cosines of a thousand times the flow's time: [batch], 0..1 -> [batch, size], sines first."""
    half = size // 2
    rates = torch.exp(torch.arange(half, dtype=torch.float32) * -(math.log(10000.0) / (half - 1)))
    angles = 1000.0 * time[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class TimeEmbedding(nn.Module):
    """The features of the flow's time through two linear layers."""

    def __init__(self, in_size: int, size: int) -> None:
        super().__init__()
        self.linear_1, self.linear_2 = nn.Linear(in_size, size), nn.Linear(size, size)

    def forward(self, features: Tensor) -> Tensor:
        """[batch, in size] -> [batch, size]."""
        return self.linear_2(functional.silu(self.linear_1(features)))


class NormedConvolution(nn.Module):
    """Convolution of 3, GroupNorm of 8 groups, Mish."""

    def __init__(self, in_size: int, size: int) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Conv1d(in_size, size, 3, padding=1), nn.GroupNorm(8, size), nn.Mish())

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x)


class ResidualBlock(nn.Module):
    """Two normed convolutions with the time added between, and a residual path."""

    def __init__(self, in_size: int, size: int, time_size: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Mish(), nn.Linear(time_size, size))
        self.block1, self.block2 = NormedConvolution(in_size, size), NormedConvolution(size, size)
        self.res_conv = nn.Conv1d(in_size, size, 1)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        hidden = self.block1(x) + self.mlp(time)[..., None]
        return self.block2(hidden) + self.res_conv(x)


class PlainAttention(nn.Module):
    """Multi-head attention without positions or masks."""

    def __init__(self, size: int, n_heads: int, head_size: int) -> None:
        super().__init__()
        self.n_heads, self.head_size = n_heads, head_size
        inner = n_heads * head_size
        self.to_q, self.to_k, self.to_v = (nn.Linear(size, inner, bias=False) for _ in range(3))
        self.to_out = nn.ModuleList([nn.Linear(inner, size)])

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            linear(x).unflatten(-1, (self.n_heads, self.head_size)).transpose(1, 2)
            for linear in (self.to_q, self.to_k, self.to_v)
        )
        out = functional.scaled_dot_product_attention(q, k, v)
        return self.to_out[0](out.transpose(1, 2).flatten(2))


class Projection(nn.Module):
    """A linear layer whose official name is `proj`, then GELU."""

    def __init__(self, in_size: int, size: int) -> None:
        super().__init__()
        self.proj = nn.Linear(in_size, size)

    def forward(self, x: Tensor) -> Tensor:
        return functional.gelu(self.proj(x))


class GeluFeedForward(nn.Module):
    """Four times wider inside."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.net = nn.ModuleList([Projection(size, 4 * size), nn.Identity(), nn.Linear(4 * size, size)])

    def forward(self, x: Tensor) -> Tensor:
        return self.net[2](self.net[0](x))


class TransformerBlock(nn.Module):
    """Pre-norm attention and feed-forward on [batch, frames, size]."""

    def __init__(self, size: int, n_heads: int, head_size: int) -> None:
        super().__init__()
        self.norm1, self.norm3 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attn1, self.ff = PlainAttention(size, n_heads, head_size), GeluFeedForward(size)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn1(self.norm1(x))
        return x + self.ff(self.norm3(x))


class Resampling(nn.Module):
    """A convolution whose official name is `conv`."""

    def __init__(self, conv: nn.Module) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


class Estimator(nn.Module):
    """1-D U-Net: state, condition, speaker and prompt -> direction of the flow. No masks: a block has no padding."""

    def __init__(self, config: EstimatorConfig) -> None:
        super().__init__()
        first, *_, last = config.channels
        time_size = first * 4
        self.in_channels = config.in_channels
        self.time_mlp = TimeEmbedding(config.in_channels, time_size)

        def stage(in_size: int, size: int, *resample: nn.Module) -> nn.ModuleList:
            blocks = [TransformerBlock(size, config.n_heads, config.head_size) for _ in range(config.n_blocks)]
            return nn.ModuleList([ResidualBlock(in_size, size, time_size), nn.ModuleList(blocks), *resample])

        self.down_blocks = nn.ModuleList()
        in_size = config.in_channels
        for i, size in enumerate(config.channels):
            at_end = i == len(config.channels) - 1
            down = nn.Conv1d(size, size, 3, padding=1) if at_end else Resampling(nn.Conv1d(size, size, 3, 2, 1))
            self.down_blocks.append(stage(in_size, size, down))
            in_size = size
        self.mid_blocks = nn.ModuleList(stage(last, last) for _ in range(config.n_mid_blocks))
        self.up_blocks = nn.ModuleList()
        sizes = (*reversed(config.channels), first)
        for i, size in enumerate(sizes[1:]):
            at_end = i == len(sizes) - 2
            up = nn.Conv1d(size, size, 3, padding=1) if at_end else Resampling(nn.ConvTranspose1d(size, size, 4, 2, 1))
            self.up_blocks.append(stage(2 * sizes[i], size, up))
        self.final_block = NormedConvolution(first, first)
        self.final_proj = nn.Conv1d(first, config.out_channels, 1)

    def forward(self, x: Tensor, mu: Tensor, time: Tensor, speaker: Tensor, cond: Tensor) -> Tensor:
        """x, mu, cond: [batch, n_mels, frames]; time: [batch, in_channels], its features; speaker: [batch, n_mels].

        Returns [batch, n_mels, frames].
        """
        time = self.time_mlp(time)
        x = torch.cat([x, mu, speaker[..., None].expand(-1, -1, x.shape[-1]), cond], dim=1)
        skips = []
        for residual, blocks, down in self.down_blocks:
            x = self._attend(residual(x, time), blocks)
            skips.append(x)
            x = down(x)
        for residual, blocks in self.mid_blocks:
            x = self._attend(residual(x, time), blocks)
        for residual, blocks, up in self.up_blocks:
            skip = skips.pop()
            x = torch.cat([x[..., : skip.shape[-1]], skip], dim=1)  # an odd length was halved up and doubled
            x = up(self._attend(residual(x, time), blocks))
        return self.final_proj(self.final_block(x))

    @staticmethod
    def _attend(x: Tensor, blocks: nn.Module) -> Tensor:
        x = x.transpose(1, 2)
        for block in blocks:
            x = block(x)
        return x.transpose(1, 2)


class LengthRegulator(nn.Module):
    """Smooths the interpolated encoding."""

    def __init__(self, channels: int, n_convolutions: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(n_convolutions):
            layers += [nn.Conv1d(channels, channels, 3, padding=1), nn.GroupNorm(1, channels), nn.Mish()]
        self.model = nn.Sequential(*layers, nn.Conv1d(channels, channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x)


class FlowDecoder(nn.Module):
    """Holds the estimator under its official name."""

    def __init__(self, config: EstimatorConfig) -> None:
        super().__init__()
        self.estimator = Estimator(config)


class Flow(nn.Module):
    """Speech tokens -> mel spectrogram by conditional flow matching."""

    def __init__(self, config: FlowConfig) -> None:
        super().__init__()
        self.config = config
        self.input_embedding = nn.Embedding(config.n_speech_tokens, config.encoder.input_size)
        self.spk_embed_affine_layer = nn.Linear(config.speaker_size, config.n_mels)
        self.encoder = Encoder(config.encoder)
        self.encoder_proj = nn.Linear(config.encoder.size, config.n_mels)
        self.length_regulator = LengthRegulator(config.n_mels, config.n_regulator_convolutions)
        self.decoder = FlowDecoder(config.estimator)

    def project_speaker(self, speaker: Tensor) -> Tensor:
        """[1, speaker size] -> [1, n_mels]."""
        return self.spk_embed_affine_layer(functional.normalize(speaker, dim=1))


class Snake(nn.Module):
    """x + sin(alpha x)^2 / alpha with a learnt alpha for each channel (Ziyin 2020)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.empty(channels))

    def forward(self, x: Tensor) -> Tensor:
        alpha = self.alpha[:, None]
        return x + torch.sin(alpha * x) ** 2 / (alpha + 1e-9)


class ResBlock(nn.Module):
    """Dilated convolutions with Snake, each pair around a residual path."""

    def __init__(self, channels: int, kernel: int, dilations: tuple[int, ...]) -> None:
        super().__init__()

        def convolution(dilation: int) -> nn.Module:
            return weight_norm(nn.Conv1d(channels, channels, kernel, padding=(kernel - 1) * dilation // 2, dilation=dilation))

        self.convs1 = nn.ModuleList(convolution(dilation) for dilation in dilations)
        self.convs2 = nn.ModuleList(convolution(1) for _ in dilations)
        self.activations1 = nn.ModuleList(Snake(channels) for _ in dilations)
        self.activations2 = nn.ModuleList(Snake(channels) for _ in dilations)

    def forward(self, x: Tensor) -> Tensor:
        for snake1, conv1, snake2, conv2 in zip(
            self.activations1, self.convs1, self.activations2, self.convs2, strict=True
        ):
            x = x + conv2(snake2(conv1(snake1(x))))
        return x


class F0Predictor(nn.Module):
    """Mel -> f0 in Hz for each frame."""

    def __init__(self, n_mels: int, channels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for in_size in (n_mels, channels, channels, channels, channels):
            layers += [weight_norm(nn.Conv1d(in_size, channels, 3, padding=1)), nn.ELU()]
        self.condnet = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels, 1)

    def forward(self, mel: Tensor) -> Tensor:
        """[1, n_mels, frames] -> [1, frames]."""
        return self.classifier(self.condnet(mel).transpose(1, 2)).squeeze(-1).abs()


class SourceMerge(nn.Module):
    """Holds the layer that merges the harmonics under its official name."""

    def __init__(self, n_harmonics: int) -> None:
        super().__init__()
        self.l_linear = nn.Linear(n_harmonics + 1, 1)


class Vocoder(nn.Module):
    """Mel and source excitation -> the spectrum of the waveform."""

    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        self.config = config
        base, bins = config.base_channels, config.n_fft + 2
        sizes = [base // 2 ** (i + 1) for i in range(len(config.upsample_rates))]
        self.m_source = SourceMerge(config.n_harmonics)
        self.conv_pre = weight_norm(nn.Conv1d(config.n_mels, base, 7, padding=3))
        self.ups = nn.ModuleList(
            weight_norm(nn.ConvTranspose1d(2 * size, size, kernel, rate, padding=(kernel - rate) // 2))
            for size, rate, kernel in zip(sizes, config.upsample_rates, config.upsample_kernels, strict=True)
        )
        self.source_downs, self.source_resblocks = nn.ModuleList(), nn.ModuleList()
        for i, size in enumerate(sizes):
            rate = math.prod(config.upsample_rates[i + 1 :])  # from the source's frames down to this stage's
            down = nn.Conv1d(bins, size, 1) if rate == 1 else nn.Conv1d(bins, size, 2 * rate, rate, padding=rate // 2)
            self.source_downs.append(down)
            self.source_resblocks.append(ResBlock(size, config.source_kernels[i], config.source_dilations[i]))
        self.resblocks = nn.ModuleList(
            ResBlock(size, kernel, dilations)
            for size in sizes
            for kernel, dilations in zip(config.kernels, config.dilations, strict=True)
        )
        self.conv_post = weight_norm(nn.Conv1d(sizes[-1], bins, 7, padding=3))
        self.f0_predictor = F0Predictor(config.n_mels, config.f0_channels)

    def forward(self, mel: Tensor, source_spectrum: Tensor) -> Tensor:
        """mel: [1, n_mels, frames]; source_spectrum: [1, n_fft + 2, n + 1], real parts before imaginary ones.

        Returns [1, n_fft + 2, n + 1]: logarithm of the magnitude, then what the phase is the sine of.
        """
        x = self.conv_pre(mel)
        n_kernels = len(self.config.kernels)
        for i, up in enumerate(self.ups):
            x = up(functional.leaky_relu(x, self.config.leaky_slope))
            if i == len(self.ups) - 1:
                x = functional.pad(x, (1, 0), mode="reflect")
            x = x + self.source_resblocks[i](self.source_downs[i](source_spectrum))
            blocks = self.resblocks[i * n_kernels : (i + 1) * n_kernels]
            x = sum(block(x) for block in blocks) / n_kernels
        return self.conv_post(functional.leaky_relu(x))

    def waveform(self, mel: Tensor, source: Tensor) -> Tensor:
        """mel: [1, n_mels, frames]; source: [1, samples] -> [1, samples]."""
        config = self.config
        spectrum = signal.stft(source.numpy(), config.n_fft, config.hop_length)
        stacked = torch.from_numpy(np.concatenate([spectrum.real, spectrum.imag], axis=1).astype(np.float32))
        log_magnitude, phase = self(mel, stacked).chunk(2, dim=1)
        magnitude = log_magnitude.exp().clamp(max=100.0)
        out = signal.istft(magnitude.numpy(), phase.sin().numpy(), config.n_fft, config.hop_length)
        return torch.from_numpy(out).clamp(-config.limit, config.limit)
