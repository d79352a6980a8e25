"""Turns, limits, cancelling and errors of the scheduler, without sockets."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from edge_tts import scheduler as scheduler_module
from edge_tts.errors import (
    BundleError,
    BusyError,
    CancelledError,
    EngineError,
    ServiceError,
)
from edge_tts.scheduler import Job, Priority, Scheduler, SchedulerLimits, VoiceSlot
from edge_tts.synthesizer import SpeechOptions, Voice
from tests.spelling_voice import SpellingModel, spelling_bundle, spelling_voice

Make = Callable[..., Scheduler]


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Scheduler] = []

    def make_one(model: SpellingModel, **limits: float) -> Scheduler:
        slot = VoiceSlot(spelling_bundle(), lambda: spelling_voice(model))
        scheduler = Scheduler(slot, SchedulerLimits(**limits))  # type: ignore[arg-type]
        scheduler.start()
        made.append(scheduler)
        return scheduler

    yield make_one
    for scheduler in made:
        scheduler.stop(5)
        assert not scheduler.alive


def submit(scheduler: Scheduler, text: str, priority: Priority = Priority.NORMAL, finish: bool = True) -> Job:
    """Submit a text a sentence at a time, as the front end joins short ones that come together."""
    job = scheduler.submit(SpeechOptions(), priority, lambda: None)
    for sentence in re.findall(r"[^.]+\.", text):
        job.feed(sentence)
    if finish:
        job.finish()
    return job


def wait(condition: Callable[[], object], seconds: float = 10) -> None:
    deadline_s = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline_s, "waited in vain"
        time.sleep(0.002)


def test_sentences_of_different_requests_take_turns(make: Make) -> None:
    model = SpellingModel()
    scheduler = make(model)
    model.may_go_on.clear()
    first = submit(scheduler, "Aa. Ab. Ac. Ad.")
    wait(lambda: model.spoken)
    second = submit(scheduler, "Ba. Bb.")
    model.may_go_on.set()
    wait(lambda: first.ended and second.ended)
    assert model.spoken == ["Aa.", "Ba.", "Ab.", "Bb.", "Ac.", "Ad."]


def test_an_urgent_request_is_next(make: Make) -> None:
    model = SpellingModel()
    scheduler = make(model)
    model.may_go_on.clear()
    jobs = [submit(scheduler, "Aa. Ab. Ac.")]
    wait(lambda: model.spoken)
    jobs += [submit(scheduler, "Ba. Bb."), submit(scheduler, "Ua. Ub.", Priority.HIGH)]
    model.may_go_on.set()
    wait(lambda: all(job.ended for job in jobs))
    assert model.spoken[:3] == ["Aa.", "Ua.", "Ub."]


def test_a_full_queue_refuses_and_recovers(make: Make) -> None:
    model = SpellingModel()
    scheduler = make(model, max_jobs=2)
    model.may_go_on.clear()
    jobs = [submit(scheduler, "Aa."), submit(scheduler, "Bb.")]
    with pytest.raises(BusyError, match="2 requests are waiting"):
        submit(scheduler, "Cc.")
    model.may_go_on.set()
    wait(lambda: all(job.ended for job in jobs))
    wait(lambda: submit(scheduler, "Dd.").error is None)


def test_cancelling_stops_within_one_step(make: Make) -> None:
    model = SpellingModel(n_chunks=50)
    scheduler = make(model)
    model.may_go_on.clear()
    job = submit(scheduler, "A rather long sentence that takes many steps of the model to be spoken.")
    wait(lambda: model.n_steps == 1)
    job.cancel()
    model.may_go_on.set()
    wait(lambda: job.ended)
    assert isinstance(job.error, CancelledError)
    assert model.n_steps == 1
    assert job.take() is None


def test_an_error_in_the_model_reaches_who_waits_and_no_other(make: Make) -> None:
    scheduler = make(SpellingModel())
    bad, good = submit(scheduler, "Well. Then breakdown no."), submit(scheduler, "Yes.")
    wait(lambda: bad.ended and good.ended)
    assert isinstance(bad.error, EngineError) and "ZeroDivisionError" in str(bad.error)
    assert bad.take() is not None, "what was spoken before the error is still there"
    assert good.error is None and good.take() is not None


def test_an_error_while_loading_reaches_who_waits() -> None:
    def broken() -> None:
        raise BundleError("gone")

    scheduler = Scheduler(VoiceSlot(spelling_bundle(), broken))  # type: ignore[arg-type]
    scheduler.start()
    job = submit(scheduler, "Hello.")
    wait(lambda: job.ended)
    assert isinstance(job.error, BundleError)
    scheduler.stop(5)


def test_a_slow_listener_holds_up_nobody_and_keeps_little(make: Make) -> None:
    model = SpellingModel()
    scheduler = make(model, buffer_s=0.1)
    slow = submit(scheduler, "Word. " * 500)
    other = submit(scheduler, "Quick. Done.")
    wait(lambda: other.ended)
    time.sleep(0.05)
    steps = model.n_steps
    assert steps < 20 and not slow.ended
    while slow.take() is not None:
        pass
    wait(lambda: model.n_steps > steps)


def test_text_that_comes_later_keeps_the_speaker_of_the_first(make: Make) -> None:
    scheduler = make(SpellingModel())
    job = submit(scheduler, "English first. ", finish=False)
    wait(lambda: job.options.speaker == "ann")
    job.feed("然后中文。")
    job.finish()
    wait(lambda: job.ended)
    assert job.options.speaker == "ann"


def test_an_idle_model_is_unloaded_and_loaded_again(make: Make) -> None:
    loads: list[int] = []

    def load() -> object:
        loads.append(1)
        return spelling_voice(SpellingModel())

    slot = VoiceSlot(spelling_bundle(), load)  # type: ignore[arg-type]
    scheduler = Scheduler(slot, SchedulerLimits(unload_after_s=0.1))
    scheduler.start()
    for n in (1, 2):
        job = submit(scheduler, "Hello.")
        wait(lambda job=job: job.ended)  # type: ignore[misc]
        assert job.error is None and len(loads) == n
        wait(lambda: not slot.loaded)
    scheduler.stop(5)


def test_stopping_lets_a_sentence_come_to_its_end_and_speaks_the_first_one_of_who_waits(make: Make) -> None:
    model = SpellingModel(n_chunks=4)
    scheduler = make(model)
    model.may_go_on.clear()
    job, waiting = submit(scheduler, "The first sentence. The second."), submit(scheduler, "Waiting.")
    wait(lambda: model.n_steps == 1)
    stopping = threading.Thread(target=scheduler.stop, args=(10,))
    stopping.start()
    wait(lambda: scheduler._draining)
    model.may_go_on.set()
    stopping.join(10)
    assert model.spoken == ["The first sentence.", "Waiting."] and model.n_steps == 8
    assert isinstance(job.error, ServiceError)
    for each in (job, waiting):
        chunks = 0
        while each.take() is not None:
            chunks += 1
        assert chunks == 4
    with pytest.raises(ServiceError):
        submit(scheduler, "Too late.")


def test_requests_admitted_before_a_new_bundle_end_with_the_old_one(make: Make) -> None:
    old, new = SpellingModel(), SpellingModel()
    scheduler = make(old)
    old.may_go_on.clear()
    before = submit(scheduler, "Aa. Ab.")
    wait(lambda: old.spoken)
    scheduler.replace(VoiceSlot(spelling_bundle(), lambda: spelling_voice(new)))
    after = submit(scheduler, "Ba.")
    old.may_go_on.set()
    wait(lambda: before.ended and after.ended)
    assert old.spoken == ["Aa.", "Ab."] and new.spoken == ["Ba."]


def test_a_step_that_takes_long_is_seen(make: Make) -> None:
    model = SpellingModel()
    scheduler = make(model)
    assert scheduler.stuck_for_s() == 0
    model.may_go_on.clear()
    submit(scheduler, "Hello.")
    wait(lambda: scheduler.stuck_for_s() > 0.05)
    model.may_go_on.set()
    wait(lambda: scheduler.stuck_for_s() == 0)


def test_an_idle_model_rests_once_after_every_stretch_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "_REST_AFTER_S", 0.05)
    rests: list[int] = []
    model = SpellingModel()
    slot = VoiceSlot(spelling_bundle(), lambda: Voice(spelling_bundle(), model, lambda: rests.append(model.n_steps)))
    scheduler = Scheduler(slot)
    scheduler.start()
    for n in (1, 2):
        model.may_go_on.clear()
        job = submit(scheduler, "Hello.")
        wait(lambda n=n: model.n_steps == n)  # type: ignore[misc]
        time.sleep(0.15)
        assert len(rests) == n - 1  # not while it speaks
        model.may_go_on.set()
        wait(lambda job=job, n=n: job.ended and len(rests) == n)  # type: ignore[misc]
        time.sleep(0.15)
        assert len(rests) == n
    scheduler.settle()  # somebody else has spoken
    wait(lambda: len(rests) == 3)
    scheduler.stop(5)
