"""The plain-text socket, with socat, nc and bare sockets as clients."""

from __future__ import annotations

import io
import shutil
import socket
import struct
import subprocess
import time
import wave
from pathlib import Path

import pytest
import soundfile

from edge_tts.audio import WAV_HEADER_BYTES
from edge_tts.text import frontend
from tests.service.conftest import Running, Start, read_all
from tests.spelling_voice import SAMPLE_RATE, SAMPLES_PER_BYTE, SpellingModel, read_back

SHORT_TIMES = "[limits]\nsend_timeout_s = 0.4\nidle_gap_s = 0.3\nread_timeout_s = 0.5\n"


def spoken(wav: bytes) -> str:
    assert wav[:4] == b"RIFF", wav[:100]
    return read_back(wav[WAV_HEADER_BYTES:])


def expected(text: str) -> str:
    """What the model is given to speak of a text."""
    return "".join(sentence.text for sentence in frontend.sentences(text))


def answers_as_usual(running: Running) -> bool:
    return spoken(running.ask(b"Good day.\n")) == "Good day."


def socat(path: Path, text: str, *arguments: str) -> bytes:
    if shutil.which("socat") is None:
        pytest.skip("socat is not installed")
    command = ["socat", *arguments, "-", f"UNIX-CONNECT:{path}"]
    return subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, timeout=60, check=True).stdout


def test_the_one_liner_speaks_with_socats_defaults(start: Start, tmp_path: Path) -> None:
    running = start()
    out = tmp_path / "out.wav"
    out.write_bytes(socat(running.path, "你好，世界。Hello.\n"))
    assert spoken(out.read_bytes()) == expected("你好，世界。Hello.")
    samples, rate = soundfile.read(out)
    assert rate == SAMPLE_RATE and len(samples) > 0


def test_socat_waits_for_a_first_sound_that_takes_seconds(start: Start) -> None:
    running = start(SpellingModel(step_s=1.6))
    assert spoken(socat(running.path, "Slow. Sentences.\n")) == expected("Slow. Sentences.")


def test_socat_waits_for_what_follows_a_clause(start: Start) -> None:
    running = start(SpellingModel(step_s=0.9, n_chunks=3, clauses=True))
    assert spoken(socat(running.path, "A clause, and the rest.\n")) == expected("A clause, and the rest.")


def test_socat_waits_for_what_follows_inside_a_clause(start: Start) -> None:
    running = start(SpellingModel(step_s=1.5, n_chunks=3))
    assert spoken(socat(running.path, "A long and slow clause.\n")) == expected("A long and slow clause.")


def test_silence_is_never_put_inside_a_clause(start: Start) -> None:
    running = start(SpellingModel(step_s=0.5, n_chunks=2))
    audio = running.ask(b"Inside.\n")[WAV_HEADER_BYTES:]
    values = struct.unpack(f"<{len(audio) // 2}h", audio)
    first = next(i for i, value in enumerate(values) if value)
    last = max(i for i, value in enumerate(values) if value)
    assert 0 not in values[first : last + 1]
    assert first > 0, "there was time for silence before the first sound"


def test_the_header_comes_before_the_first_sound(start: Start) -> None:
    model = SpellingModel()
    running = start(model, 'load = "lazy"')
    model.may_go_on.clear()
    with running.connect() as client:
        client.sendall(b"Hello.\n")
        assert client.recv(WAV_HEADER_BYTES)[:4] == b"RIFF"
        assert model.spoken in ([], ["Hello."])
        model.may_go_on.set()


def test_nc_that_never_closes_its_side_gets_its_audio(start: Start) -> None:
    running = start(toml=SHORT_TIMES)
    assert spoken(running.ask(b"One line.\n", close_sending=False)) == "One line."


@pytest.mark.parametrize("command", [["ncat", "-U"], ["nc.openbsd", "-N", "-U"], ["nc.openbsd", "-U", "-q", "5"]])
def test_other_programs_can_be_used_like_socat(start: Start, command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    running = start(SpellingModel(step_s=0.7), SHORT_TIMES)
    ran = subprocess.run([*command, str(running.path)], input=b"Hello there.\n", stdout=subprocess.PIPE, timeout=60)
    assert spoken(ran.stdout) == "Hello there."


def test_a_client_that_types_line_by_line_is_read_to(start: Start) -> None:
    running = start(toml="[limits]\nidle_gap_s = 1.0\n")
    if shutil.which("socat") is None:
        pytest.skip("socat is not installed")
    typing = f"for word in One Two Three; do echo $word.; sleep 0.3; done | socat - UNIX-CONNECT:{running.path}"
    heard = subprocess.run(["bash", "-c", typing], stdout=subprocess.PIPE, timeout=60, check=True).stdout
    assert spoken(heard) == "One.Two.Three."


def test_a_sentence_is_spoken_while_the_next_is_still_being_written(start: Start) -> None:
    running = start()
    with running.connect() as client:
        client.sendall(b"The first sentence is here. And the sec")
        head = client.recv(WAV_HEADER_BYTES)
        audio = b""
        while len(audio.replace(b"\0\0", b"")) == 0:
            audio += client.recv(65536)
        client.sendall(b"ond one came later.\n")
        client.shutdown(socket.SHUT_WR)
        assert spoken(head + audio + read_all(client)) == expected("The first sentence is here. And the second one came later.")


@pytest.mark.parametrize("text", [b"", b"\n", b" \n\t\n", b"...\n", "。！？\n".encode()])
def test_text_without_words_gives_an_empty_wav(start: Start, text: bytes) -> None:
    answer = start().ask(text)
    with wave.open(io.BytesIO(answer)) as file:
        assert file.getnframes() == 0
        assert file.getframerate() == SAMPLE_RATE


def test_the_request_line_sets_options(start: Start) -> None:
    running = start()
    audio = running.ask(b"edge-tts/1 voice=li speed=1.5 format=pcm lang=zh id=x1 priority=high seed=3\nHello.\n")
    assert read_back(audio) == "Hello."


@pytest.mark.parametrize("name", ["wav", "flac", "ogg", "opus", "mp3"])
def test_every_format_can_be_read(start: Start, name: str) -> None:
    audio = start().ask(f"edge-tts/1 format={name}\n{'Some words to speak. ' * 8}\n".encode())
    samples, _ = soundfile.read(io.BytesIO(audio))
    assert len(samples) > 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("edge-tts/1 voice=nobody", "error unknown-voice unknown voice 'nobody'; this bundle has: ann, li"),
        ("edge-tts/1 speed=9", "error bad-request speed 9.0 is outside 0.5-2.0"),
        ("edge-tts/1 speed=fast", "error bad-request speed 'fast' is not a number"),
        ("edge-tts/1 format=aiff", "error bad-request unknown audio format 'aiff'"),
        ("edge-tts/1 lang=xx", "error bad-request language 'xx'"),
        ("edge-tts/1 pitch=2", "error bad-request unknown option 'pitch'"),
        ("edge-tts/1 voice=ann loud", "error bad-request 'loud' is no option"),
        ("edge-tts/1 dance", "error bad-request unknown request 'dance'"),
        ("edge-tts/9 voice=ann", "error bad-request unknown protocol 'edge-tts/9'"),
        ("edge-tts/1 id=" + "x" * 100, "error bad-request id must be"),
        ("edge-tts/" + "x" * 5000, "error bad-request the request line is longer"),
    ],
)
def test_a_bad_request_line_gets_an_error_line_and_no_speech(start: Start, line: str, message: str) -> None:
    running = start()
    answer = running.ask(f"{line}\nHello.\n".encode()).decode()
    assert answer.startswith(f"edge-tts/1 {message}")
    assert answer.count("\n") == 1
    assert running.model.spoken == ["A.", "好。"]  # the warm-up, nothing else


def test_ping_and_voices_are_answered(start: Start) -> None:
    running = start()
    assert running.ask(b"edge-tts/1 ping\n") == b"edge-tts/1 ok pong\n"
    lines = running.ask(b"edge-tts/1 voices\n").decode().splitlines()
    assert lines == ["edge-tts/1 ok 2 voices", "ann\ten-US\tCC0-1.0\tspells", "li\tzh-CN\tCC0-1.0\tspells too"]


def test_a_request_is_cancelled_by_its_id(start: Start) -> None:
    running = start(SpellingModel(step_s=0.1))
    with running.connect() as client:
        client.sendall(b"edge-tts/1 id=long\n" + b"On and on. " * 100)
        client.shutdown(socket.SHUT_WR)
        client.recv(100)
        assert running.ask(b"edge-tts/1 cancel id=long\n") == b"edge-tts/1 ok cancelled=1\n"
        read_all(client)
    assert running.ask(b"edge-tts/1 cancel id=long\n") == b"edge-tts/1 ok cancelled=0\n"
    assert running.model.n_steps < 20


def test_an_id_in_use_is_refused(start: Start) -> None:
    running = start(SpellingModel(step_s=0.2))
    with running.connect() as client:
        client.sendall(b"edge-tts/1 id=a\nA sentence to wait for. And another such sentence.\n")
        client.recv(100)
        assert b"error bad-request a request with the id 'a'" in running.ask(b"edge-tts/1 id=a\nHello.\n")


def test_several_clients_get_each_their_own_audio(start: Start) -> None:
    running = start(SpellingModel(step_s=0.002))
    texts = [f"Client {name} says this. And {name} says that, too. Bye from {name}!" for name in "abcdefghijklmnopqrst"]
    clients = [running.connect() for _ in texts]
    for client, text in zip(clients, texts, strict=True):
        client.sendall(text.encode() + b"\n")
        client.shutdown(socket.SHUT_WR)
    for client, text in zip(clients, texts, strict=True):
        assert spoken(read_all(client)) == expected(text)
        client.close()


def test_invalid_utf8_and_nul_bytes_do_no_harm(start: Start) -> None:
    running = start()
    assert running.ask(b"Bad \xff\xfe bytes \x00 here.\n")[:4] == b"RIFF"
    assert running.ask(b"\xff" * 1000)[:4] == b"RIFF"
    assert running.ask(b"\x00" * 1000)[:4] == b"RIFF"
    assert answers_as_usual(running)


def test_a_megabyte_of_one_letter_is_refused(start: Start) -> None:
    running = start()
    with running.connect() as client:
        try:
            client.sendall(b"a" * 1_000_000)
            client.shutdown(socket.SHUT_WR)
        except BrokenPipeError:
            pass  # the refusal came before all was sent
        try:
            answer = read_all(client)
        except ConnectionResetError:
            answer = b""
    assert len(answer) < 262_144 * 2 * SAMPLES_PER_BYTE, "not all of what came before the limit was spoken"
    assert answers_as_usual(running)


def test_text_over_the_limit_in_one_piece_gets_an_error_line(start: Start) -> None:
    running = start(toml="[limits]\ntext_bytes = 1000")
    assert running.ask(b"a" * 1001).startswith(b"edge-tts/1 error too-long the text is longer than 1000 bytes")
    assert answers_as_usual(running)


def test_a_client_that_sends_nothing_is_told_so(start: Start) -> None:
    running = start(toml=SHORT_TIMES)
    with running.connect() as client:
        assert read_all(client).startswith(b"edge-tts/1 error too-slow no text came for 0.4 s")
    assert answers_as_usual(running)


def test_a_client_that_sends_too_slowly_is_cut_off(start: Start) -> None:
    running = start(toml="[limits]\nsend_total_s = 0.5\n")
    with running.connect() as client:
        began_s = time.monotonic()
        try:
            while time.monotonic() - began_s < 10:
                client.sendall(b" ")
                time.sleep(0.05)
        except OSError:
            pass
        assert time.monotonic() - began_s < 5
    assert answers_as_usual(running)


def test_a_client_that_never_reads_is_cut_off_and_its_work_ends(start: Start) -> None:
    running = start(toml=SHORT_TIMES)
    with running.connect() as client:
        client.sendall(b"Words and words without end, again and again and again. " * 2000)
        client.shutdown(socket.SHUT_WR)
        deadline_s = time.monotonic() + 10
        while running.service.scheduler.depth and time.monotonic() < deadline_s:
            time.sleep(0.02)
        assert running.service.scheduler.depth == 0
        assert running.model.n_steps < 2000
    assert answers_as_usual(running)


def test_a_vanished_client_frees_the_worker(start: Start) -> None:
    running = start(SpellingModel(step_s=0.05))
    client = running.connect()
    client.sendall(b"A long story. " * 500)
    client.recv(100)
    client.close()
    assert answers_as_usual(running)
    assert running.service.scheduler.depth == 0
    assert running.model.n_steps < 60


def test_a_client_that_vanishes_after_closing_its_side_frees_the_worker(start: Start) -> None:
    running = start(SpellingModel(step_s=0.05))
    client = running.connect()
    client.sendall(b"A long story. " * 500)
    client.shutdown(socket.SHUT_WR)
    client.recv(100)
    client.close()
    deadline_s = time.monotonic() + 5
    while running.service.scheduler.depth and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert running.model.n_steps < 60
    assert answers_as_usual(running)


def test_a_client_that_vanishes_before_the_first_sound_frees_the_worker(start: Start) -> None:
    model = SpellingModel()
    running = start(model)
    assert answers_as_usual(running)
    model.may_go_on.clear()
    client = running.connect()
    client.sendall(b"Never heard. " * 100)
    client.shutdown(socket.SHUT_WR)
    client.recv(100)
    client.close()
    time.sleep(0.5)
    steps = model.n_steps
    model.may_go_on.set()
    assert answers_as_usual(running)
    assert model.n_steps <= steps + 2


def test_more_clients_than_the_limit_are_told_that_it_is_busy(start: Start) -> None:
    running = start(toml="[limits]\nconnections = 3")
    waiting = [running.connect() for _ in range(3)]
    time.sleep(0.1)
    began_s = time.monotonic()
    with running.connect() as client:
        assert read_all(client).startswith(b"edge-tts/1 error busy busy: 3 clients are connected")
    assert time.monotonic() - began_s < 1
    for client in waiting:
        client.close()
    time.sleep(0.2)
    assert answers_as_usual(running)


def test_a_full_queue_is_told_at_once(start: Start) -> None:
    running = start(SpellingModel(step_s=0.2), "[limits]\nrequests = 1")
    with running.connect() as client:
        client.sendall(b"A sentence to wait for. " * 4)
        client.recv(100)
        assert running.ask(b"Me too.\n").startswith(b"edge-tts/1 error busy busy: 1 requests are waiting")
        client.shutdown(socket.SHUT_WR)
        read_all(client)
    assert answers_as_usual(running)


def test_an_unexpected_error_ends_one_request_alone(start: Start) -> None:
    running = start()
    answer = running.ask(b"Everything is fine here. But then comes breakdown this.\n")
    assert spoken(answer) == "Everything is fine here."
    assert answers_as_usual(running)


def test_text_after_the_end_of_a_request_is_not_spoken(start: Start) -> None:
    running = start(toml=SHORT_TIMES)
    with running.connect() as client:
        client.sendall(b"Said.\n")
        time.sleep(0.6)
        try:
            client.sendall(b"Unsaid.\n")
        except BrokenPipeError:
            pass
        assert spoken(read_all(client)) == "Said."
