"""The family end to end on a random model: order, blocks, seeds, modes, speed, runaways, cancelling."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edge_tts import load_voice
from edge_tts.audio import AudioChunk
from edge_tts.bundle import open_bundle
from edge_tts.engine import Engine
from edge_tts.errors import CancelledError, UnknownVoiceError
from edge_tts.models import Delivery
from edge_tts.models.cosyvoice import model as module
from edge_tts.models.cosyvoice.model import BlockPlan, CosyVoiceModel, LMSettings, load
from edge_tts.models.cosyvoice.sampling import RunawayLimits
from edge_tts.text import Sentence

TEXTS = ("Hello.", "How are you today, my friend?", "Fine!", "Good to hear that.")


@pytest.fixture(scope="module")
def model(tiny_cosyvoice_bundle: Path) -> CosyVoiceModel:
    loaded = load(open_bundle(tiny_cosyvoice_bundle), Engine())
    loaded.lm_settings = LMSettings(min_ratio=4.0, max_ratio=9.0)  # a random model ends when it likes
    return loaded


@pytest.fixture(autouse=True)
def restored(model: CosyVoiceModel) -> Iterator[None]:
    limits, settings = model.runaway_limits, model.lm_settings
    model.counters.update(runaways=0, given_up=0)
    yield
    model.runaway_limits, model.lm_settings = limits, settings


def delivery(model: CosyVoiceModel, name: str = "中文女", *, speed: float = 1.0, seed: int | None = 1) -> Delivery:
    return Delivery(model._bundle.voice(name), speed, seed)


def speak(model: CosyVoiceModel, texts: tuple[str, ...] = TEXTS, **options: object) -> list[AudioChunk]:
    sentences = iter([Sentence(text, "en") for text in texts])
    return list(model.speak(sentences, delivery(model, **options), lambda: False))  # type: ignore[arg-type]


def sentences_of(chunks: list[AudioChunk]) -> list[np.ndarray]:
    found, parts = [], []
    for chunk in chunks:
        parts.append(chunk.samples)
        if chunk.ends_sentence:
            found.append(np.concatenate(parts))
            parts = []
    assert not parts
    return found


def test_every_sentence_is_spoken_in_order(model: CosyVoiceModel) -> None:
    together = sentences_of(speak(model))
    assert len(together) == len(TEXTS)
    # Batches change nothing but rounding, and sampling here does not hang on that: each alone, at its place, sounds the same.
    for index in range(1, len(TEXTS)):
        alone = [chunk.samples for chunk in _spoken_alone(model, index)]
        assert len(np.concatenate(alone)) == len(together[index])


def test_warming_up_goes_through_every_language(tiny_cosyvoice_bundle: Path) -> None:
    voice = load_voice(tiny_cosyvoice_bundle)
    assert {"en", "zh"} <= set(voice.bundle.manifest.languages)
    voice.warm_up()


def test_what_nobody_listens_to_is_cut_short_and_is_no_runaway(model: CosyVoiceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    push = module.FlowStream.push

    def noted(flow: module.FlowStream, tokens: list[int], *, final: bool) -> np.ndarray:
        decoded.append(len(tokens))
        return push(flow, tokens, final=final)

    monkeypatch.setattr(module.FlowStream, "push", noted)
    model.lm_settings = LMSettings(min_ratio=20, max_ratio=30)  # so that it cannot end by itself before
    rehearsed = replace(delivery(model, speed=2.0), rehearsed=True)
    [chunk] = model.speak(iter([Sentence("A.", "en")]), rehearsed, lambda: False)
    assert decoded == [module.REHEARSED_TOKENS]
    assert chunk.ends_sentence
    assert len(chunk.samples)
    assert model.counters == {"runaways": 0, "given_up": 0}


def _spoken_alone(model: CosyVoiceModel, index: int) -> list[AudioChunk]:
    voice = model.voice("中文女")
    speech = module.Speech(model, voice, Sentence(TEXTS[index], "en"), delivery(model), 1, index, lambda: False)
    return list(model._speak_together([speech], lambda: False))


def test_the_first_sentence_is_decoded_alone_and_the_rest_as_a_batch(
    model: CosyVoiceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    decode = model.lm.decode
    monkeypatch.setattr(model.lm, "decode", lambda prefixes: sizes.append(len(prefixes)) or decode(prefixes))
    model.runaway_limits = RunawayLimits(attempts=1)
    speak(model)
    assert sizes == [1, len(TEXTS) - 1]


def test_the_same_seed_gives_the_same_audio(model: CosyVoiceModel) -> None:
    first, second = (np.concatenate([c.samples for c in speak(model, seed=7)]) for _ in range(2))
    other = np.concatenate([c.samples for c in speak(model, seed=8)])
    np.testing.assert_array_equal(first, second)
    assert len(other) != len(first) or not np.array_equal(other, first)


def test_a_long_sentence_comes_in_blocks_that_grow(model: CosyVoiceModel) -> None:
    model.lm_settings = LMSettings(min_ratio=16.0, max_ratio=20.0)
    chunks = speak(model, ("A sentence that goes on for some time.",))
    assert len(chunks) >= 3
    assert [chunk.ends_sentence for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[0].duration_s < 1.0 < chunks[1].duration_s < chunks[2].duration_s


def test_blocks_cover_all_tokens_and_overlap_by_twenty() -> None:
    plan, cuts = BlockPlan(), []
    for n_tokens in range(1, 900):
        while block := plan.next(n_tokens, ended=False):
            cuts.append(block)
    cuts.append(plan.next(899, ended=True))
    while not cuts[-1][2]:
        cuts.append(plan.next(899, ended=True))
    assert cuts[0][:2] == (0, 60) and cuts[-1][1:] == (899, True)
    assert all(after[0] == before[1] - 20 for before, after in itertools.pairwise(cuts))


def test_a_short_finished_sentence_is_not_cut() -> None:
    assert BlockPlan().next(300, ended=True) == (0, 300, True)


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_speed_changes_the_duration_by_its_inverse(model: CosyVoiceModel, speed: float) -> None:
    normal, changed = (sum(c.duration_s for c in speak(model, TEXTS[:1], speed=s)) for s in (1.0, speed))
    assert changed == pytest.approx(normal / speed, rel=0.02)


def test_an_instructed_voice_reads_its_instruction_and_not_the_speaker(model: CosyVoiceModel) -> None:
    plain, instructed = model.voice("中文女"), model.voice("cheerful")
    assert len(instructed.lm_speaker) == 0 and not plain.prompt_text
    assert bytes(instructed.prompt_text).decode() == "Speak <strong>fast</strong>.<endofprompt>"
    np.testing.assert_array_equal(plain.flow.speaker, instructed.flow.speaker)
    assert sentences_of(speak(model, TEXTS[:1], name="cheerful"))


def test_a_stored_prompt_goes_into_the_lm_and_the_flow_but_is_not_heard(model: CosyVoiceModel) -> None:
    rng = np.random.default_rng(0)
    plain = model.voice("中文女")
    prompt = tuple(int(t) for t in rng.integers(0, 64, 25))
    flow = module.FlowVoice(plain.flow.speaker, prompt, rng.normal(size=(80, 43)).astype(np.float32))
    model._voices["中文女"] = module.VoiceData(plain.lm_speaker, (5, 6, 7), prompt, flow)
    try:
        model.lm_settings = LMSettings(min_ratio=4.0, max_ratio=4.9)
        (audio,) = sentences_of(speak(model, TEXTS[:1]))
    finally:
        model._voices["中文女"] = plain
    n_tokens = len(TEXTS[0]) * 4
    assert len(audio) <= (model.flow.settings.frames_of(n_tokens + len(TEXTS[0]))) * 256


def test_a_runaway_is_drawn_anew_and_counted(model: CosyVoiceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    draw = module.draw

    def stuck_at_first(log_probs: np.ndarray, recent: list[int], *rest: object) -> int:
        calls.append(len(recent))
        return 3 if len(calls) <= 110 else draw(log_probs, recent, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "draw", stuck_at_first)
    model.lm_settings = LMSettings(min_ratio=2.0, max_ratio=20.0)
    text = "A sentence of forty letters, all in all."
    chunks = speak(model, (text,))
    assert model.counters["runaways"] >= 1
    set_back = [b for a, b in itertools.pairwise(calls) if b <= a]
    assert set_back, "decoding went back to an earlier token"
    assert sum(chunk.duration_s for chunk in chunks) <= 20 * len(text) / 50


def test_a_model_that_only_runs_away_ends_soon_and_says_so(model: CosyVoiceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "draw", lambda *_: 3)
    model.lm_settings = LMSettings(min_ratio=2.0, max_ratio=20.0)
    chunks = speak(model, ("A sentence of forty letters, all in all.", "And one more that is just as long, or so."))
    assert model.counters == {"runaways": 6, "given_up": 2}
    found = sentences_of(chunks)
    assert len(found) == 2
    # What was heard before the guard could know, and no minutes of noise (the limit of 20 tokens a letter would be 16 s).
    assert all(len(samples) / 22050 < 3.5 for samples in found)


def test_a_runaway_in_a_batch_leaves_its_neighbours_alone(model: CosyVoiceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    model.lm_settings = LMSettings(min_ratio=4.0, max_ratio=5.0)
    model.runaway_limits = RunawayLimits(attempts=1)
    usual = sentences_of(speak(model))
    take = module.Speech.take
    set_back = []

    def take_and_run_away_once(speech: module.Speech, log_probs: np.ndarray) -> bool:
        if speech._seed[1] == 2 and len(speech.tokens) == 10 and not set_back:
            set_back.append(speech)
            model.runaway_limits = RunawayLimits(attempts=9)
            again = speech._recover(module.Runaway("loop", 5))
            model.runaway_limits = RunawayLimits(attempts=1)
            return again
        return take(speech, log_probs)

    monkeypatch.setattr(module.Speech, "take", take_and_run_away_once)
    disturbed = sentences_of(speak(model))
    assert set_back and len(disturbed) == len(usual)
    for index in (0, 1, 3):
        np.testing.assert_allclose(disturbed[index], usual[index], atol=1e-3)


def test_a_cancelled_request_stops_within_a_step(model: CosyVoiceModel) -> None:
    asked = []

    def cancelled() -> bool:
        asked.append(True)
        return len(asked) > 5

    with pytest.raises(CancelledError):
        list(model.speak(iter([Sentence(TEXTS[1], "en")]), delivery(model), cancelled))
    assert len(asked) == 6


def test_an_unknown_voice_is_named(model: CosyVoiceModel) -> None:
    with pytest.raises(UnknownVoiceError, match="中文男"):
        model.voice("nobody")


def test_the_bundle_speaks_through_the_public_api_without_torch(tiny_cosyvoice_bundle: Path) -> None:
    program = (
        "import sys, edge_tts\n"
        f"voice = edge_tts.load_voice({str(tiny_cosyvoice_bundle)!r})\n"
        "chunk = next(iter(voice.synthesize('Hello.', seed=1)))\n"
        "assert chunk.sample_rate == 22050 and len(chunk.samples)\n"
        "loaded = sorted({'torch', 'nncf', 'onnx', 'convert', 'scipy', 'onnxruntime'} & set(sys.modules))\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def test_two_requests_at_a_time_do_not_meet(tiny_cosyvoice_bundle: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    voice = load_voice(tiny_cosyvoice_bundle)

    def spoken(seed: int) -> np.ndarray:
        return np.concatenate([chunk.samples for chunk in voice.synthesize("Hello you.", seed=seed)])

    alone = [spoken(seed) for seed in (1, 2)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(spoken, (1, 2)))
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_sentences_of_several_requests_share_their_decode_steps(
    model: CosyVoiceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [sentences_of(speak(model, seed=seed)) for seed in range(2)]
    sizes: list[int] = []
    log_softmax = module.log_softmax
    monkeypatch.setattr(module, "log_softmax", lambda logits: (sizes.append(len(logits)), log_softmax(logits))[1])
    requests = [
        model.speak(iter([Sentence(text, "en") for text in TEXTS]), delivery(model, seed=seed), lambda: False)
        for seed in range(2)
    ]
    heard: list[list[AudioChunk]] = [[], []]
    speaking = [0, 1]
    while speaking:  # in turn, as the scheduler has them
        for index in list(speaking):
            chunk = next(requests[index], None)
            if chunk is None:
                speaking.remove(index)
            else:
                heard[index].append(chunk)
    assert max(sizes) > len(TEXTS) - 1, "more than one request ever has in a step"
    for one, together in zip(alone, map(sentences_of, heard), strict=True):
        assert [len(samples) for samples in one] == [len(samples) for samples in together]


def test_a_request_that_is_closed_leaves_the_batch(model: CosyVoiceModel) -> None:
    first = model.speak(iter([Sentence(TEXTS[1], "en")]), delivery(model), lambda: False)
    next(first)
    first.close()  # type: ignore[attr-defined]
    assert not model._pool._active and not model._pool._waiting
    assert len(sentences_of(speak(model))) == len(TEXTS)
