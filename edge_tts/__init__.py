"""Offline text-to-speech on OpenVINO for small x86 boxes.

    from edge_tts import load_voice

    voice = load_voice("kokoro")            # a bundle's directory
    for chunk in voice.synthesize("Hello."):
        play(chunk.samples, chunk.sample_rate)
"""

from pathlib import Path as _Path

# The unrelated PyPI package "edge-tts" installs into the same folder; its module betrays it.
if (_Path(__file__).parent / "communicate.py").exists():
    raise ImportError(
        "the package 'edge-tts' (a client of a cloud service) is installed over 'edge-tts-openvino': both are called edge_tts. "
        "Keep one of them: pip uninstall -y edge-tts edge-tts-openvino && pip install edge-tts-openvino"
    )

from edge_tts.audio import AudioChunk
from edge_tts.errors import (
    BundleError,
    BusyError,
    CancelledError,
    EdgeTTSError,
    EngineError,
    MissingExtraError,
    OptionError,
    RequestError,
    ServiceError,
    TooLongError,
    UnknownVoiceError,
)
from edge_tts.synthesizer import SpeechOptions, Utterance, Voice, load_voice

__all__ = [
    "AudioChunk",
    "BundleError",
    "BusyError",
    "CancelledError",
    "EdgeTTSError",
    "EngineError",
    "MissingExtraError",
    "OptionError",
    "RequestError",
    "ServiceError",
    "SpeechOptions",
    "TooLongError",
    "UnknownVoiceError",
    "Utterance",
    "Voice",
    "load_voice",
]

__version__ = "0.1.0"
