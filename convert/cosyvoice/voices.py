"""Voices of a bundle from a checkpoint's speakers: SFT speakers, stored zero-shot prompts, and instructed variants of either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_tts.bundle import VoiceEntry
from edge_tts.errors import BundleError
from edge_tts.text.tokenizer import TextTokenizer

Arrays = dict[str, NDArray[np.generic]]
LICENSE = "Apache-2.0"
# How the official speakers' names begin -> BCP 47 tag; what the rest of a name says.
_LANGUAGES = {"中文": "zh-CN", "英文": "en-US", "日语": "ja-JP", "粤语": "yue-HK", "韩语": "ko-KR"}
_GENDERS = {"男": "male", "女": "female"}
# The voice for a text's main language, the best one that is there first.
_PREFERRED = {"zh": "中文女", "en": "英文女", "ja": "日语男", "yue": "粤语女", "ko": "韩语女", "": "中文女"}
# Ends an instruction, as the Instruct weights were trained.
END_OF_PROMPT = "<endofprompt>"


@dataclass(frozen=True, eq=False)
class Voice:
    """A voice's entry in the manifest and its arrays; see `edge_tts.models.cosyvoice.model.VoiceData`."""

    entry: VoiceEntry
    arrays: Arrays


def make_voices(
    speakers: Mapping[str, Arrays], instructed: Sequence[tuple[str, str, str]], tokenizer: TextTokenizer, n_mels: int
) -> list[Voice]:
    """All voices: the checkpoint's speakers in their order, then the instructed ones.

    speakers: entries of `spk2info.pt` by name: `embedding`, or what CosyVoice's `add_zero_shot_spk` stores
    instructed: (name, speaker, instruction); the instruction may hold special tokens
    """
    voices = [_speaker_voice(name, entries, n_mels) for name, entries in speakers.items()]
    known = {voice.entry.name: voice for voice in voices}
    for name, speaker, instruction in instructed:
        if speaker not in known:
            raise BundleError(f"--instruct {name}: no speaker {speaker!r}; the checkpoint has: {', '.join(known) or 'none'}")
        if name in {voice.entry.name for voice in voices}:
            raise BundleError(f"--instruct {name}: there is a voice of that name already")
        base = known[speaker]
        arrays = {
            **base.arrays,
            "lm_speaker": np.zeros(0, np.float32),  # the instruction decides, not the speaker (as in the original)
            "lm_prompt_tokens": np.zeros(0, np.int64),
            "prompt_text": np.array(tokenizer.encode(instruction + END_OF_PROMPT, marked_up=True), np.int64),
        }
        voices.append(Voice(VoiceEntry(name, base.entry.language, LICENSE, f"{speaker}, instructed: {instruction}"), arrays))
    if not voices:
        raise BundleError("the checkpoint has no speakers (spk2info.pt is missing or empty): copy CosyVoice-300M-SFT's")
    return voices


def default_voices(voices: Sequence[Voice]) -> dict[str, str]:
    """Primary subtag -> voice; "" is there always."""
    names = [voice.entry.name for voice in voices]
    defaults = {language: name for language, name in _PREFERRED.items() if name in names}
    for voice in voices:
        defaults.setdefault(voice.entry.language.split("-")[0], voice.entry.name)
    defaults.setdefault("", names[0])
    return {language: name for language, name in defaults.items() if language != "und"}


def _speaker_voice(name: str, entries: Arrays, n_mels: int) -> Voice:
    embedding = entries.get("embedding")
    flow_speaker = entries.get("flow_embedding", embedding)
    if flow_speaker is None:
        raise BundleError(f"spk2info.pt: speaker {name!r} has neither 'embedding' nor 'flow_embedding'")
    lm_speaker = entries.get("llm_embedding", flow_speaker if embedding is None else embedding)
    mel = entries.get("prompt_speech_feat", np.zeros((1, 0, n_mels), np.float32))  # [1, frames, n_mels]
    arrays: Arrays = {
        "lm_speaker": _vector(lm_speaker),
        "flow_speaker": _vector(flow_speaker),
        "prompt_text": _ids(entries, "prompt_text"),
        "lm_prompt_tokens": _ids(entries, "llm_prompt_speech_token"),
        "flow_prompt_tokens": _ids(entries, "flow_prompt_speech_token"),
        "prompt_mel": np.ascontiguousarray(mel[0].T, dtype=np.float32),
    }
    if arrays["prompt_mel"].shape[0] != n_mels:
        bands = arrays["prompt_mel"].shape[0]
        raise BundleError(f"spk2info.pt: speaker {name!r}: prompt_speech_feat has {bands} bands, not {n_mels}")
    language = next((tag for prefix, tag in _LANGUAGES.items() if name.startswith(prefix)), "und")
    return Voice(VoiceEntry(name, language, LICENSE, _GENDERS.get(name[-1:], "")), arrays)


def _vector(array: NDArray[np.generic]) -> NDArray[np.float32]:
    return np.asarray(array, dtype=np.float32).reshape(-1)


def _ids(entries: Arrays, key: str) -> NDArray[np.int64]:
    return np.asarray(entries.get(key, np.zeros(0)), dtype=np.int64).reshape(-1)
