"""Whisper's multilingual byte pairs: text -> token ids, from the ranks that lie in a bundle.

Does not fetch anything, and does not read a special token out of ordinary text: what a user wrote cannot steer the model.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from edge_tts.errors import BundleError, MissingExtraError, RequestError

# How text is cut before pairs are merged: GPT-2's rule, as in openai/whisper (whisper/tokenizer.py).
_SPLIT = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
# Whisper's languages in the order of their tokens (openai/whisper, whisper/tokenizer.py).
LANGUAGES = (
    "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml cy "
    "sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am yi lo "
    "uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su yue"
).split()
_TASKS = ("translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps")
_N_TIMESTAMPS = 1501  # 0.00 to 30.00 s


class TextTokenizer:
    """Byte pairs over one ranks file; may be shared by threads."""

    def __init__(self, ranks: dict[bytes, int]) -> None:
        try:
            import tiktoken
        except ModuleNotFoundError:
            raise MissingExtraError("tiktoken, the tokenizer of CosyVoice voices,", "cosyvoice") from None
        names = special_tokens()
        self._encoding = tiktoken.Encoding(
            "whisper-multilingual",
            pat_str=_SPLIT,
            mergeable_ranks=ranks,
            special_tokens={name: len(ranks) + i for i, name in enumerate(names)},
            explicit_n_vocab=len(ranks) + len(names),
        )

    @classmethod
    def read(cls, path: Path) -> TextTokenizer:
        """From a file of lines `base64 rank`; BundleError when it is not one."""
        return cls(read_ranks(path))

    @property
    def n_vocabulary(self) -> int:
        """Ids are below this."""
        return self._encoding.n_vocab

    def encode(self, text: str, *, marked_up: bool = False) -> list[int]:
        """Token ids of a text. Special tokens (`<|zh|>`) count only when the text is `marked_up`; else they are ordinary text."""
        try:
            if marked_up:
                return self._encoding.encode(text, allowed_special="all")
            return self._encoding.encode_ordinary(text)
        except UnicodeEncodeError:
            raise RequestError("the text holds half a surrogate pair, which is no character; send valid UTF-8") from None

    def decode(self, ids: list[int]) -> str:
        """The text of token ids."""
        return self._encoding.decode(ids)


def special_tokens() -> list[str]:
    """Names of the special tokens in the order of their ids, which follow the ranks."""
    names = ["endoftext", "startoftranscript", *LANGUAGES, *_TASKS, *(f"{i * 0.02:.2f}" for i in range(_N_TIMESTAMPS))]
    return [f"<|{name}|>" for name in names]


def read_ranks(path: Path) -> dict[bytes, int]:
    """The byte pairs of a `.tiktoken` file and their ranks, which must be 0, 1, 2, …"""
    try:
        lines = path.read_bytes().split(b"\n")
        ranks = {base64.b64decode(pair): int(rank) for pair, rank in (line.split() for line in lines if line)}
    except (OSError, ValueError, binascii.Error) as error:
        raise BundleError(f"{path}: not a file of byte pairs and ranks ({error})") from None
    if sorted(ranks.values()) != list(range(len(ranks))) or len(ranks) < 256:
        raise BundleError(f"{path}: its ranks are not 0, 1, 2, …; it may be cut short")
    return ranks
