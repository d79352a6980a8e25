"""The Wyoming protocol, with its own library's client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

pytest.importorskip("wyoming")

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from tests.service.conftest import Running, Start, read_all
from tests.service.test_plain_text import expected
from tests.spelling_voice import SAMPLE_RATE, SpellingModel, read_back

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 20))


def connected(running: Running) -> AsyncClient:
    return AsyncClient.from_uri(f"unix://{running.socket('wyoming')}")


async def audio(client: AsyncClient) -> bytes:
    """Audio events up to the stop, checked for their form; an error event is raised."""
    first = await client.read_event()
    assert first is not None
    if Error.is_type(first.type):
        raise RuntimeError(Error.from_event(first).text)
    start = AudioStart.from_event(first)
    assert (start.rate, start.width, start.channels) == (SAMPLE_RATE, 2, 1)
    pcm = b""
    while (event := await client.read_event()) is not None and not AudioStop.is_type(event.type):
        pcm += AudioChunk.from_event(event).audio
    return pcm


async def spoken(running: Running, text: str, **voice: str) -> str:
    async with connected(running) as client:
        await client.write_event(Synthesize(text=text, voice=SynthesizeVoice(**voice) if voice else None).event())
        return read_back(await audio(client))


def answers_as_usual(running: Running) -> bool:
    return run(spoken(running, "Good day.")) == expected("Good day.")


def test_describe_lists_every_voice(start: Start) -> None:
    async def described(running: Running) -> Info:
        async with connected(running) as client:
            await client.write_event(Describe().event())
            event = await client.read_event()
            assert event is not None
            return Info.from_event(event)

    program = run(described(start())).tts[0]
    assert [(voice.name, voice.languages) for voice in program.voices] == [("ann", ["en-US"]), ("li", ["zh-CN"])]
    assert program.supports_synthesize_streaming


def test_one_connection_carries_several_requests(start: Start) -> None:
    async def conversation(running: Running) -> list[str]:
        heard = []
        async with connected(running) as client:
            await client.write_event(Ping(text="there?").event())
            event = await client.read_event()
            assert event is not None and Pong.from_event(event).text == "there?"
            for text in ("First one. And more.", "Second one."):
                await client.write_event(Synthesize(text=text).event())
                heard.append(read_back(await audio(client)))
        return heard

    assert run(conversation(start())) == [expected("First one. And more."), expected("Second one.")]


def test_a_voice_is_chosen_by_name_or_language(start: Start) -> None:
    running = start()
    assert run(spoken(running, "Hello.", name="li")) == "Hello."
    assert run(spoken(running, "Hello.", language="zh-CN")) == "Hello."


def test_streamed_text_is_spoken_sentence_by_sentence(start: Start) -> None:
    async def conversation(running: Running) -> str:
        async with connected(running) as client:
            await client.write_event(SynthesizeStart().event())
            await client.write_event(SynthesizeChunk(text="One sentence. And an").event())
            event = await client.read_event()
            assert event is not None and AudioStart.is_type(event.type)
            event = await client.read_event()  # the first sentence, before the rest is there
            assert event is not None
            pcm = AudioChunk.from_event(event).audio
            await client.write_event(SynthesizeChunk(text="other.").event())
            await client.write_event(Synthesize(text="One sentence. And another.").event())  # for older services
            await client.write_event(SynthesizeStop().event())
            while (event := await client.read_event()) is not None and not AudioStop.is_type(event.type):
                pcm += AudioChunk.from_event(event).audio
            event = await client.read_event()
            assert event is not None and SynthesizeStopped.is_type(event.type)
            return read_back(pcm)

    assert run(conversation(start())) == expected("One sentence. And another.")


def test_an_unknown_voice_is_an_error_event_and_the_connection_goes_on(start: Start) -> None:
    async def conversation(running: Running) -> None:
        async with connected(running) as client:
            await client.write_event(Synthesize(text="Hello.", voice=SynthesizeVoice(name="nobody")).event())
            event = await client.read_event()
            assert event is not None
            error = Error.from_event(event)
            assert error.code == "unknown-voice" and "ann, li" in error.text
            event = await client.read_event()
            assert event is not None and AudioStop.is_type(event.type)
            await client.write_event(Synthesize(text="Hello.").event())
            assert read_back(await audio(client)) == "Hello."

    run(conversation(start()))


@pytest.mark.parametrize(
    "data",
    [
        b"\n",
        b"no json\n",
        b"[1]\n",
        b'{"data": {}}\n',
        b'{"type": "synthesize"}\n',
        b'{"type": "synthesize", "data": {"text": 7}}\n',
        b'{"type": "synthesize", "data": 7}\n',
        b'{"type": "synthesize", "data_length": 99999999999}\n',
        b'{"type": "synthesize", "data_length": "x"}\n',
        b'{"type": "synthesize", "data_length": 100}\n{',
        b'{"type": "synthesize", "payload_length": 100}\nabc',
        b"\xff\xfe\n",
        b"{" * 100_000 + b"\n",
        b"x" * 2_000_000,
        json.dumps({"type": "synthesize", "data": {"text": "x" * 300_000}}).encode() + b"\n",
    ],
)
def test_what_is_no_event_ends_that_connection_alone(start: Start, data: bytes) -> None:
    running = start()
    with running.connect("wyoming") as client:
        try:
            client.sendall(data)
            client.shutdown(1)
            answer = read_all(client)
        except OSError:
            answer = b""
    assert b"audio-chunk" not in answer
    assert answers_as_usual(running)


def test_unknown_events_are_dropped(start: Start) -> None:
    async def conversation(running: Running) -> str:
        async with connected(running) as client:
            await client.write_event(Event(type="dance", data={"how": "well"}))
            await client.write_event(Synthesize(text="Hello.").event())
            return read_back(await audio(client))

    assert run(conversation(start())) == "Hello."


def test_a_client_that_leaves_frees_the_worker(start: Start) -> None:
    running = start(SpellingModel(step_s=0.05))

    async def leave() -> None:
        async with connected(running) as client:
            await client.write_event(Synthesize(text="A long story. " * 300).event())
            await client.read_event()
            await client.read_event()

    run(leave())
    assert answers_as_usual(running)
    assert running.model.n_steps < 60


def test_an_idle_connection_does_not_hold_up_a_stop(start: Start) -> None:
    running = start()

    async def wait_for_the_end() -> None:
        async with connected(running) as client:
            await client.write_event(Synthesize(text="Hello.").event())
            assert read_back(await audio(client)) == "Hello."
            running.stop()
            assert await client.read_event() is None

    run(wait_for_the_end())
