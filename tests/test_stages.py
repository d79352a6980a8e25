"""Stages: what they count when somebody records, and that nobody is disturbed when not."""

from __future__ import annotations

import threading
import time

import pytest

from edge_tts import stages
from edge_tts.synthesizer import Voice


def test_a_stage_inside_another_counts_for_itself_only() -> None:
    with stages.recording() as recorded:
        began_s = time.perf_counter()
        with stages.stage("outer"):
            time.sleep(0.02)
            with stages.stage("inner"):
                time.sleep(0.05)
        passed_s = time.perf_counter() - began_s
    assert list(recorded.seconds) == ["outer", "inner"] and recorded.calls == {"outer": 1, "inner": 1}
    assert recorded.seconds["inner"] >= 0.05 and recorded.seconds["outer"] >= 0.02
    assert sum(recorded.seconds.values()) <= passed_s


def test_a_stage_that_fails_is_counted_and_closed() -> None:
    with stages.recording() as recorded:
        with pytest.raises(ZeroDivisionError), stages.stage("outer"), stages.stage("broken"):
            raise ZeroDivisionError
        with stages.stage("next"):
            pass
    assert recorded.calls == {"outer": 1, "broken": 1, "next": 1}
    assert recorded.seconds["outer"] >= 0


def test_a_function_keeps_its_result_and_counts_every_call() -> None:
    @stages.stage("doubling")
    def double(x: int) -> int:
        return 2 * x

    assert double(2) == 4
    with stages.recording() as recorded:
        assert [double(3), double(x=4)] == [6, 8]
    assert recorded.calls == {"doubling": 2}


def test_the_making_of_items_is_a_stage_and_their_use_is_not() -> None:
    with stages.recording() as recorded:
        for _ in stages.each("making", iter([1, 2])):
            time.sleep(0.03)
    assert recorded.calls == {"making": 3} and recorded.seconds["making"] < 0.03


def test_other_threads_are_not_recorded() -> None:
    def work() -> None:
        with stages.stage("elsewhere"):
            pass

    with stages.recording() as recorded:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert recorded.seconds == {}


def test_speaking_passes_every_stage(tiny_voice: Voice) -> None:
    with stages.recording() as recorded:
        assert sum(len(chunk.samples) for chunk in tiny_voice.synthesize("Hello. 你好。"))
    assert set(recorded.seconds) == {"text front end", "phonemes", "text", "prosody", "decoder", "signal"}
    assert recorded.calls["decoder"] == 2
