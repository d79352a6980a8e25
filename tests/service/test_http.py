"""The HTTP protocol, with the openai package, curl and bare sockets as clients."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import time
import wave
from pathlib import Path
from typing import Any

import pytest
import soundfile

pytest.importorskip("starlette")
httpx = pytest.importorskip("httpx")

from tests.service.conftest import Running, Start, read_all
from tests.service.test_plain_text import expected
from tests.spelling_voice import SAMPLE_RATE, SpellingModel, read_back


def http_client(running: Running) -> Any:
    return httpx.Client(transport=httpx.HTTPTransport(uds=str(running.socket("http"))), base_url="http://localhost", timeout=20)


def speak(running: Running, **body: object) -> Any:
    with http_client(running) as client:
        return client.post("/v1/audio/speech", json=body)


def answers_as_usual(running: Running) -> bool:
    answer = speak(running, input="Good day.", response_format="pcm")
    return bool(answer.status_code == 200 and read_back(answer.content) == expected("Good day."))


def test_the_openai_package_speaks(start: Start, tmp_path: Path) -> None:
    openai = pytest.importorskip("openai")
    running = start()
    client = openai.OpenAI(base_url="http://localhost/v1", api_key="none", http_client=http_client(running))
    with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="ann", input="Hello there. How are you?", response_format="pcm", speed=1.2
    ) as answer:
        pcm = b"".join(answer.iter_bytes())
    assert read_back(pcm) == expected("Hello there. How are you?")
    file = tmp_path / "speech.mp3"
    client.audio.speech.create(model="tts-1-hd", voice="ann", input="Hello.").write_to_file(file)
    assert len(soundfile.read(file)[0]) > 0
    assert "spelling" in [model.id for model in client.models.list()]
    with pytest.raises(openai.BadRequestError, match="this bundle has: ann, li"):
        client.audio.speech.create(model="tts-1", voice="nobody", input="Hello.")
    with pytest.raises(openai.NotFoundError, match="unknown model"):
        client.audio.speech.create(model="other", voice="ann", input="Hello.")
    client.close()


def test_curl_speaks(start: Start, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    running = start()
    body = tmp_path / "body.json"
    body.write_text(json.dumps({"input": "你好。Hello.", "response_format": "wav"}))
    out = tmp_path / "out.wav"
    url = "http://localhost/v1/audio/speech"
    command = ["curl", "-sSf", "--unix-socket", str(running.socket("http")), url, "-d", f"@{body}", "-o", str(out)]
    subprocess.run(command, check=True, timeout=30)
    with wave.open(str(out)) as file:
        assert file.getframerate() == SAMPLE_RATE
        assert read_back(file.readframes(file.getnframes())) == expected("你好。Hello.")
        assert 44 + 2 * file.getnframes() == out.stat().st_size, "the header tells the true length"


@pytest.mark.parametrize("name", ["wav", "flac", "ogg", "opus", "mp3"])
@pytest.mark.parametrize("stream", [True, False])
def test_every_format_can_be_read(start: Start, name: str, stream: bool) -> None:
    answer = speak(start(), input="Some words to speak. " * 8, response_format=name, stream=stream)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("audio/")
    samples, _ = soundfile.read(io.BytesIO(answer.content))
    assert len(samples) > 0


def test_streaming_sends_the_first_sentence_before_the_last_is_spoken(start: Start) -> None:
    model = SpellingModel(step_s=0.05)
    running = start(model)
    with http_client(running) as client:
        body = {"input": "One sentence. " * 40, "response_format": "pcm", "stream": True}
        with client.stream("POST", "/v1/audio/speech", json=body) as answer:
            parts = answer.iter_bytes()
            first = next(parts)
            assert model.n_steps < 20
            assert read_back(first + b"".join(parts)) == expected("One sentence. " * 40)


def test_text_without_words_gives_an_empty_file(start: Start) -> None:
    running = start()
    for text in ("", " \n", "..."):
        answer = speak(running, input=text, response_format="wav")
        with wave.open(io.BytesIO(answer.content)) as file:
            assert file.getnframes() == 0


@pytest.mark.parametrize(
    ("body", "status", "code", "message"),
    [
        ({}, 400, "bad_request", "input must be the text"),
        ({"input": 7}, 400, "bad_request", "input must be the text"),
        ({"input": "x", "voice": "nobody"}, 400, "unknown_voice", "this bundle has: ann, li"),
        ({"input": "x", "speed": 9}, 400, "bad_request", "outside 0.5-2.0"),
        ({"input": "x", "speed": "quick"}, 400, "bad_request", "is not a number"),
        ({"input": "x", "response_format": "aac"}, 400, "bad_request", "unknown audio format 'aac'"),
        ({"input": "x", "model": "gpt-9"}, 404, "unknown_model", "unknown model"),
        ({"input": "x", "volume": 2}, 400, "bad_request", "unknown field 'volume'"),
        ({"input": "x", "stream": "yes"}, 400, "bad_request", "stream must be"),
        ({"input": "x", "stream_format": "sse"}, 400, "bad_request", "stream_format"),
        ({"input": "x" * 300_000}, 413, "too_long", "longer than 262144 bytes"),
        ([1], 400, "bad_request", "must be a JSON object"),
    ],
)
def test_a_bad_request_is_answered_in_openais_form(
    start: Start, body: object, status: int, code: str, message: str
) -> None:
    running = start()
    with http_client(running) as client:
        answer = client.post("/v1/audio/speech", json=body)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["code"] == code and message in error["message"]
    assert answers_as_usual(running)


def test_a_body_that_is_no_json_or_far_too_long_is_refused(start: Start) -> None:
    running = start()
    with http_client(running) as client:
        assert client.post("/v1/audio/speech", content=b"{").status_code == 400
        assert client.post("/v1/audio/speech", content=b"\xff\xfe").status_code == 400
        assert client.post("/v1/audio/speech", content=b"x" * 2_000_000).status_code == 413
    assert answers_as_usual(running)


def test_voices_and_models_and_probes(start: Start) -> None:
    running = start()
    with http_client(running) as client:
        voices = client.get("/v1/audio/voices").json()["voices"]
        assert voices[0] == {"id": "ann", "name": "ann", "language": "en-US", "license": "CC0-1.0", "description": "spells"}
        assert client.get("/v1/models").json()["data"][0]["id"] == "spelling"
        assert client.get("/healthz").text == "ok\n"
        assert client.get("/readyz").text == "ready\n"
        assert client.get("/nothing").status_code == 404


def test_metrics_count_requests_and_refusals(start: Start) -> None:
    pytest.importorskip("prometheus_client")
    running = start()
    assert answers_as_usual(running)
    speak(running, input="x", voice="nobody")
    with http_client(running) as client:
        text = client.get("/metrics").text
    assert 'edge_tts_requests_total{outcome="done",protocol="http"} 1.0' in text
    assert 'edge_tts_refusals_total{protocol="http",reason="unknown-voice"} 1.0' in text
    assert 'edge_tts_first_audio_seconds_count{protocol="http"} 1.0' in text
    assert "process_resident_memory_bytes" in text
    assert "edge_tts_model_loaded 1.0" in text


def test_a_request_is_cancelled_by_its_id(start: Start) -> None:
    running = start(SpellingModel(step_s=0.05))
    body = {"input": "On and on. " * 200, "response_format": "pcm", "id": "long"}
    with http_client(running) as client, http_client(running) as other:
        with client.stream("POST", "/v1/audio/speech", json=body) as answer:
            assert answer.headers["x-request-id"] == "long"
            assert other.delete("/v1/audio/speech/long").json() == {"cancelled": 1}
            with pytest.raises(httpx.RemoteProtocolError):  # cut-off audio does not look complete
                answer.read()
        assert other.delete("/v1/audio/speech/long").status_code == 404
    assert running.model.n_steps < 60
    assert answers_as_usual(running)


def test_an_error_in_the_middle_does_not_look_like_the_end(start: Start) -> None:
    running = start()
    text = "Everything is fine here. But then comes a breakdown."
    with http_client(running) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            client.post("/v1/audio/speech", json={"input": text, "response_format": "pcm"})
        assert client.post("/v1/audio/speech", json={"input": "A breakdown.", "response_format": "pcm"}).status_code == 500
    assert answers_as_usual(running)


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_hangs_up_frees_the_worker(start: Start, stream: bool) -> None:
    running = start(SpellingModel(step_s=0.05))
    body = json.dumps({"input": "A long story. " * 300, "response_format": "pcm", "stream": stream}).encode()
    with running.connect("http") as client:
        head = f"POST /v1/audio/speech HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        deadline_s = time.monotonic() + 10
        while not running.service.scheduler.depth and time.monotonic() < deadline_s:
            time.sleep(0.01)
        assert running.service.scheduler.depth == 1
    while running.service.scheduler.depth and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert running.model.n_steps < 60
    assert answers_as_usual(running)


def test_clients_that_send_or_take_nothing_are_cut_off(start: Start) -> None:
    running = start(toml="[limits]\nsend_timeout_s = 0.5\nread_timeout_s = 0.5\n")
    body = json.dumps({"input": "Words and words without end. " * 5000, "response_format": "pcm"}).encode()
    with running.connect("http") as silent, running.connect("http") as half, running.connect("http") as deaf:
        half.sendall(b"POST /v1/audio/speech HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
        deaf.sendall(f"POST /v1/audio/speech HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        deadline_s = time.monotonic() + 15
        while running.service._connections and time.monotonic() < deadline_s:
            time.sleep(0.05)
        assert not running.service._connections
        assert running.service.scheduler.depth == 0
        assert read_all(silent) == b""
        assert b"408" in read_all(half)
    assert answers_as_usual(running)


def test_more_clients_than_the_limit_are_told_that_it_is_busy(start: Start) -> None:
    running = start(toml="[limits]\nconnections = 2")
    waiting = [running.connect("http") for _ in range(2)]
    time.sleep(0.1)
    with running.connect("http") as client:
        assert read_all(client).startswith(b"HTTP/1.1 503 ")
    for each in waiting:
        each.close()
    time.sleep(0.1)
    assert answers_as_usual(running)


def test_a_full_queue_is_told_at_once(start: Start) -> None:
    running = start(SpellingModel(step_s=0.2), "[limits]\nrequests = 1")
    with http_client(running) as client:
        body = {"input": "A sentence to wait for. " * 4, "response_format": "pcm"}
        with client.stream("POST", "/v1/audio/speech", json=body) as answer:
            refused = speak(running, input="Me too.")
            assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
            assert refused.json()["error"]["code"] == "busy"
            answer.read()
    assert answers_as_usual(running)


def test_a_stop_lets_the_sentence_end_and_closes_idle_connections(start: Start) -> None:
    running = start(SpellingModel(step_s=0.1, n_chunks=4))
    with http_client(running) as idle, http_client(running) as client:
        assert idle.get("/healthz").status_code == 200
        heard = b""
        with client.stream("POST", "/v1/audio/speech", json={"input": "A sentence. " * 50, "response_format": "pcm"}) as answer:
            parts = answer.iter_raw()
            heard += next(parts)
            began_s = time.monotonic()
            running.stop()
            with pytest.raises(httpx.RemoteProtocolError):  # what is missing does not look complete
                for part in parts:
                    heard += part
        assert read_back(heard).endswith("A sentence.")
    while running.loop.is_running():
        assert time.monotonic() < began_s + 8, "an idle connection held up the stop"
        time.sleep(0.02)
