"""Byte pairs against Whisper's own encoding."""

import json
from pathlib import Path

import pytest

from edge_tts.errors import BundleError, RequestError
from edge_tts.text.tokenizer import TextTokenizer, read_ranks, special_tokens
from tests.tiny_cosyvoice_ranks import write_ranks

pytest.importorskip("tiktoken")

SAMPLE = (
    "The quick brown fox's 3 jumps, didn't it?",
    "今天天气很好，我们一起去公园散步吧。",
    "明日は雨が降るでしょう。",
    "오늘은 날씨가 맑습니다.",
    "我哋聽日去飲茶。",
    "naïve café — “quotes” … 42%",
    "𝄞 emoji 😀 end",
    "  two  spaces\nand a newline\t",
    "<|zh|>你好<|en|>hello",
    "[laughter]哈哈，<strong>真的</strong>吗？",
)


@pytest.fixture(scope="module")
def whisper_ranks() -> Path:
    import importlib.util

    spec = importlib.util.find_spec("whisper")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package openai-whisper, which holds the ranks, is not installed")
    return Path(spec.submodule_search_locations[0]) / "assets" / "multilingual.tiktoken"


@pytest.fixture(scope="module")
def tokenizer(whisper_ranks: Path) -> TextTokenizer:
    return TextTokenizer.read(whisper_ranks)


def test_ids_are_those_of_the_reference(tokenizer: TextTokenizer, cosyvoice_reference: Path) -> None:
    cases = json.loads((cosyvoice_reference / "tokens.json").read_text(encoding="utf-8"))
    for case in cases:
        assert tokenizer.encode(case["text"], marked_up=True) == case["ids"], case["text"]
    assert tokenizer.n_vocabulary == 51866


@pytest.mark.filterwarnings("ignore")  # of the packages that whisper imports
def test_ids_are_whispers_own(tokenizer: TextTokenizer, whisper_ranks: Path) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("whisper_tokenizer", whisper_ranks.parents[1] / "tokenizer.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    whisper = module.get_tokenizer(multilingual=True, num_languages=100).encoding
    for text in SAMPLE:
        assert tokenizer.encode(text, marked_up=True) == whisper.encode(text, allowed_special="all"), text
        assert tokenizer.encode(text) == whisper.encode(text, disallowed_special=()), text


@pytest.fixture(scope="module")
def bytes_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> TextTokenizer:
    path = tmp_path_factory.mktemp("ranks") / "ranks.tiktoken"
    write_ranks(path)
    return TextTokenizer.read(path)


def test_text_of_a_user_cannot_smuggle_in_a_special_token(bytes_tokenizer: TextTokenizer) -> None:
    ids = bytes_tokenizer.encode("<|zh|>你好<|endoftext|>")
    assert max(ids) < 256
    assert bytes_tokenizer.decode(ids) == "<|zh|>你好<|endoftext|>"


def test_special_tokens_of_marked_up_text_follow_the_ranks(bytes_tokenizer: TextTokenizer) -> None:
    first = 256 + special_tokens().index("<|zh|>")
    assert bytes_tokenizer.encode("<|zh|>a", marked_up=True) == [first, ord("a")]


def test_half_a_surrogate_pair_is_refused_or_replaced(bytes_tokenizer: TextTokenizer) -> None:
    try:
        ids = bytes_tokenizer.encode("a\ud800b")
    except RequestError as error:
        assert "surrogate" in str(error)
    else:
        assert bytes_tokenizer.decode(ids) == "a\ufffdb"


@pytest.mark.parametrize(
    "content", [b"", b"not a ranks file", b"IQ== 0\nIg== 2\n", b"IQ== x\n"], ids=["empty", "words", "a gap", "no number"]
)
def test_a_damaged_ranks_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.tiktoken"
    path.write_bytes(content)
    with pytest.raises(BundleError, match=r"broken\.tiktoken"):
        read_ranks(path)
