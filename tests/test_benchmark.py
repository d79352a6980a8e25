"""The measuring behind `edge-tts bench`: its texts, its arithmetic, and a process that fails. No figure is judged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edge_tts import benchmark
from edge_tts.benchmark import Endurance, Plan, Spoken, Spread, Start
from edge_tts.benchmark.texts import LENGTHS, PARTS, languages_of, texts, varied
from edge_tts.bundle import Bundle
from edge_tts.errors import BundleError, EngineError, UnknownVoiceError
from edge_tts.synthesizer import Voice
from edge_tts.text import frontend


def ignore(what: str, share: float) -> None:
    """A progress that nobody watches."""


@pytest.mark.parametrize("language", PARTS)
@pytest.mark.parametrize("length", LENGTHS)
def test_texts_are_different_and_in_their_language(language: str, length: str) -> None:
    found = texts(language, length, 12)
    assert len({text.text for text in found}) == 12
    assert texts(language, length, 12) == found and texts(language, length, 12, seed=1) != found
    assert all(text.language == language and text.length == length for text in found)
    for text in found:
        sentences = list(frontend.sentences(text.text))
        assert len(sentences) == (5 if length == "long" else 1)
        assert {frontend.primary_subtag(sentence.language) for sentence in sentences} <= {language, "zh"}
    assert not any(character.isdigit() for text in found for character in text.text)


def test_lengths_differ_in_the_texts_and_among_each_other() -> None:
    for language in PARTS:
        sizes = [[len(text.text) for text in texts(language, length, 12)] for length in LENGTHS]
        assert max(sizes[0]) < min(sizes[2]) and sum(sizes[0]) < sum(sizes[1]) < sum(sizes[2])
        assert len(set(sizes[1])) >= 5


def test_varied_texts_hardly_repeat_themselves() -> None:
    found = [text.text for text in varied(("en", "zh"), 5000)]
    assert len(found) == 5000 and len(set(found)) > 3500
    assert [text.language for text in varied(("en", "zh"), 3)] == ["en", "zh", "en"]


def test_languages_without_texts_fall_back_to_english() -> None:
    assert languages_of(("de", "zh")) == ("zh",)
    assert languages_of(("de",)) == ("en",)


def test_a_spread_is_median_and_extremes() -> None:
    assert Spread.of([3.0, 1.0, 2.0, 10.0]) == Spread(2.5, 1.0, 10.0, 4)


def test_stages_are_seconds_for_a_second_of_audio_and_the_rest_is_other() -> None:
    spoken = [Spoken(2.0, 1.0, 1.5, 0.5, {"decoder": 0.6, "phonemes": 0.2}), Spoken(2.0, 1.0, 1.5, 0.5, {"decoder": 0.8})]
    assert benchmark.stage_shares(spoken) == {"decoder": 0.35, "other": 0.1, "phonemes": 0.05}


def test_a_row_ends_early_when_its_time_is_spent_but_not_before_two_texts() -> None:
    slow = Spoken(1.0, 40.0, 40.0, 1.0)
    assert len(benchmark.within_budget(iter([slow] * 9), 1.0)) == 2
    assert len(benchmark.within_budget(iter([slow] * 9), 100.0)) == 3
    assert len(benchmark.within_budget(iter([slow]), 1.0)) == 1


def test_growth_is_counted_from_a_tenth_of_the_texts_on() -> None:
    points = ((1, 100.0, 50.0), (10, 300.0, 200.0), (50, 310.0, 200.0), (100, 315.0, 210.0))
    assert Endurance(100, 1.0, 1.0, points, 320.0).growth_mb == 15.0


def test_a_start_and_everything_after_it_are_measured(tiny_bundle: Bundle, tmp_path: Path) -> None:
    plan = Plan(tiny_bundle.path, ("en", "zh"), repeats=2, clients=(1, 3))
    start = benchmark.start(plan, tmp_path, 0.0, ignore)
    assert isinstance(start, Start) and start.load_s > 0 and start.first_audio_s > 0
    assert start.ready_s == pytest.approx(start.process_s + start.load_s + start.first_audio_s)
    speaking = benchmark.speak_all(plan, tmp_path, ignore)
    assert [(row.language, row.length, row.state) for row in speaking.rows] == [
        (language, length, state) for language in ("en", "zh") for length in LENGTHS for state in ("new", "repeated")
    ]
    assert all(row.rtf.n == 2 and 0 < row.rtf.low <= row.rtf.median <= row.rtf.high for row in speaking.rows)
    assert [row.audio_s for row in speaking.rows[::2]] == [row.audio_s for row in speaking.rows[1::2]]
    assert [row.clients for row in speaking.clients] == [1, 3] and speaking.clients[1].first_audio_s.n == 3
    for shares in speaking.stages.values():
        assert {"text front end", "phonemes", "text", "prosody", "decoder", "signal", "other"} == set(shares)
        assert min(shares.values()) >= 0


def test_a_text_without_sound_is_refused(tiny_voice: Voice) -> None:
    with pytest.raises(EngineError, match=r"nothing to say for '\.\.\.'; give other texts with --text"):
        benchmark.speak(tiny_voice, benchmark.Text("...", "short", None))


def test_a_wrong_bundle_or_voice_is_told_beforehand(tiny_bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(BundleError):
        benchmark.check(Plan(tmp_path, ("en",)))
    with pytest.raises(UnknownVoiceError):
        benchmark.check(Plan(tiny_bundle.path, ("en",), speaker="nobody"))


def _fails(name: str, progress: benchmark.Progress) -> None:
    progress("half", 0.5)
    raise UnknownVoiceError(name, ["ann"])


def _dies(progress: benchmark.Progress) -> None:
    os.abort()


def test_an_error_of_the_measuring_process_is_raised_here_as_it_was() -> None:
    seen = []
    with pytest.raises(UnknownVoiceError, match="unknown voice 'bob'; this bundle has: ann"):
        benchmark.in_a_process(_fails, "bob", progress=lambda what, share: seen.append((what, share)))
    assert seen == [("half", 0.5)]


def test_a_measuring_process_that_dies_is_an_error() -> None:
    with pytest.raises(EngineError, match="ended by signal 6"):
        benchmark.in_a_process(_dies, progress=ignore)
