"""On processors that are not at hand, emulated by QEMU in user mode: right for what is said, worthless for how fast.

An Atom of the 2010s (Denverton) and a first Core i7 (Nehalem) have SSE 4.2 and no AVX; a Haswell has AVX2 and no VNNI. With QEMU
7.2 on two busy cores of a Zen 3, each takes hibari a minute; Kokoro takes three minutes on the first two and more than five on
Haswell, whose AVX2 is emulated lane by lane.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from convert.listening import Listener, words
from tests.real.conftest import CACHE, ROOT

pytestmark = pytest.mark.slow

PROCESSORS = ("Nehalem", "Denverton", "Haswell")
SENTENCE = "The weather is fine today."
LIMIT_S = 1800
_PROGRAM = """
import sys, time
import numpy as np, soundfile
from edge_tts import load_voice

begin = time.monotonic()
voice = load_voice(sys.argv[1], cache_dir=sys.argv[2], threads=2)
loaded = time.monotonic()
samples = np.concatenate([chunk.samples for chunk in voice.synthesize(sys.argv[4], seed=1)])
soundfile.write(sys.argv[3], samples, voice.sample_rate)
print(f"loaded in {loaded - begin:.0f} s, spoke {len(samples) / voice.sample_rate:.2f} s in {time.monotonic() - loaded:.0f} s")
"""


@pytest.fixture(scope="module")
def hibari_bundle() -> Path:
    path = CACHE / "voices" / "hibari"
    subprocess.run([sys.executable, "-m", "convert", "hibari", "--out", str(path)], cwd=ROOT, check=True, timeout=300)
    return path


def speak(bundle: Path, wav: Path, environment: dict[str, str], processor: str = "") -> str:
    """Speak the sentence in a process of its own, emulated if a processor is named; returns what it says of its times."""
    emulator = ["qemu-x86_64", "-cpu", processor] if processor else []
    cache = wav.parent / f"cache-{wav.stem}"  # compiled graphs are for the processor that compiled them
    command = [*emulator, sys.executable, "-c", _PROGRAM, str(bundle), str(cache), str(wav), SENTENCE]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, f"{processor}: exit status {done.returncode}\n{done.stderr[-2000:]}"
    return done.stdout.strip()


@pytest.fixture(scope="module", params=["hibari", "kokoro"])
def native(
    request: pytest.FixtureRequest, environment: dict[str, str], listener: Listener, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """(bundle, what it says on this processor), once it is known to be understood."""
    if shutil.which("qemu-x86_64") is None:
        pytest.skip("QEMU's user mode is not installed (Debian: apt-get install qemu-user)")
    bundle = request.getfixturevalue("int8_bundle" if request.param == "kokoro" else "hibari_bundle")
    wav = tmp_path_factory.mktemp(request.param) / "native.wav"
    speak(bundle, wav, environment)
    assert words(listener.transcribe(wav, "en")) == words(SENTENCE)
    return bundle, wav


@pytest.mark.parametrize("processor", PROCESSORS)
def test_another_processor_says_the_same(
    native: tuple[Path, Path],
    processor: str,
    environment: dict[str, str],
    listener: Listener,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bundle, wav = native
    other = wav.with_name(f"{processor}.wav")
    times = speak(bundle, other, environment, processor)
    heard = listener.transcribe(other, "en")
    here, there = (soundfile.read(path)[0] for path in (wav, other))
    with capsys.disabled():
        print(f"\n{bundle.name} on {processor}: {times}; heard {heard!r}")
    assert words(heard) == words(SENTENCE)
    assert len(there) / len(here) == pytest.approx(1, rel=0.03) and np.abs(there).max() < 1.0
