"""What this machine is, for figures to be read with: the processor's features, this process's memory, and versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Instruction sets that decide how fast float and int8 graphs run, in the order in which processors got them.
FEATURES = (
    "sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "avx512_fp16",
    "amx_tile", "amx_int8", "amx_bf16",
)  # fmt: skip


@dataclass(frozen=True)
class Processor:
    """name as the kernel has it; cores that this process may use; features: those of FEATURES that it has."""

    name: str
    cores: int
    features: tuple[str, ...]


@dataclass(frozen=True)
class ProcessMemory:
    """Of this process, in MB: resident now, the most that ever was, and what of the resident part is no mapped file."""

    resident_mb: float
    peak_mb: float
    own_mb: float


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> Processor:
    """The processor that this runs on. OSError where the kernel does not tell."""
    lines = dict(line.split(":", 1) for line in cpuinfo.read_text(encoding="utf-8").split("\n\n")[0].splitlines() if ":" in line)
    values = {name.strip(): value.strip() for name, value in lines.items()}
    flags = set(values.get("flags", "").split())
    features = tuple(feature for feature in FEATURES if feature in flags)
    return Processor(values.get("model name", "unknown"), len(os.sched_getaffinity(0)), features)


def process_memory(status: Path = Path("/proc/self/status")) -> ProcessMemory:
    """What this process takes; the three come from one reading."""
    lines = status.read_text(encoding="utf-8").splitlines()
    kibibytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "VmHWM", "RssAnon"))}
    return ProcessMemory(*(round(kibibytes[name] * 1024 / 1e6, 1) for name in ("VmRSS", "VmHWM", "RssAnon")))


def versions(*packages: str) -> dict[str, str]:
    """Of Python and of those packages that are installed."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def description(*packages: str) -> dict[str, Any]:
    """All of it as data, with the versions of OpenVINO, numpy and `packages`."""
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6
    return {
        "processor": asdict(processor()),
        "memory_mb": round(memory_mb),
        "system": f"{platform.system()} {platform.release()}",
        "versions": versions("openvino", "numpy", *packages),
    }
