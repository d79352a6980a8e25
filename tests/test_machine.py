"""What a machine says of itself, against what the system's own tools say."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import numpy as np

from edge_tts import machine


def test_the_processors_features_are_those_of_its_flags(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    first, second = "flags\t\t: fpu avx2 sse4_2 avx512_vnni\n", "flags\t\t: amx_int8\n"
    cpuinfo.write_text(f"model name\t: Some CPU\n{first}\nmodel name\t: Other\n{second}")
    found = machine.processor(cpuinfo)
    assert (found.name, found.features) == ("Some CPU", ("sse4_2", "avx2", "avx512_vnni"))
    assert found.cores == len(os.sched_getaffinity(0))


def test_memory_is_what_the_kernel_counts() -> None:
    ballast = np.ones(30_000_000, np.uint8)
    found = machine.process_memory()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    assert abs(found.peak_mb - peak_mb) < 5
    assert ballast.nbytes / 1e6 < found.own_mb <= found.resident_mb <= found.peak_mb


def test_a_description_names_versions_of_what_is_there() -> None:
    found = machine.description("no-such-package")
    assert {"python", "openvino", "numpy"} == set(found["versions"])
    assert found["versions"]["numpy"] == np.__version__
    assert found["memory_mb"] > 100
