"""The checkpoint's files -> torch modules, every parameter accounted for.

`.pt` files are read with `weights_only=True`, so that nothing in them can run, and memory-mapped, so that they cost no memory
until a layer is exported.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from convert.cosyvoice.config import CosyVoiceConfig, read_config
from convert.cosyvoice.modules import Flow, SpeechLM, Vocoder
from edge_tts.errors import BundleError

_TRAINING_ENTRIES = ("epoch", "step")
_LISTED = 5  # names shown of a long list of wrong parameters


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A loaded checkpoint: sizes, the three networks, and the speakers' stored vectors by name."""

    config: CosyVoiceConfig
    lm: SpeechLM
    flow: Flow
    vocoder: Vocoder
    speakers: dict[str, dict[str, np.ndarray]]


def load_checkpoint(directory: Path) -> Checkpoint:
    """Read the official directory layout; BundleError names a file, parameter or shape that is missing, unknown or wrong."""
    config = read_config(directory)
    with torch.device("meta"):
        lm, flow, vocoder = SpeechLM(config.lm), Flow(config.flow), Vocoder(config.vocoder)
    for name, module in (("llm.pt", lm), ("flow.pt", flow), ("hift.pt", vocoder)):
        load_parameters(module, directory / name)
    return Checkpoint(config, lm, flow, vocoder, read_speakers(directory / "spk2info.pt"))


def load_parameters(module: nn.Module, path: Path) -> None:
    """Give `module` (on the meta device) the parameters in the file, strictly; then set it up for inference."""
    found = _official_names(_read_pt(path), path)
    wanted = module.state_dict()
    complaints = [
        *_complaint("misses", sorted(set(wanted) - set(found))),
        *_complaint("has unknown", sorted(set(found) - set(wanted))),
        *_complaint(
            "has wrongly shaped",
            [
                f"{name} ({list(found[name].shape)} instead of {list(wanted[name].shape)})"
                for name in sorted(set(found) & set(wanted))
                if found[name].shape != wanted[name].shape
            ],
        ),
    ]
    if complaints:
        raise BundleError(f"{path} {'; '.join(complaints)}. Does cosyvoice.yaml belong to it?")
    # A tensor in half precision becomes float32; float32 stays a view of the file.
    module.load_state_dict({name: tensor.float() for name, tensor in found.items()}, strict=True, assign=True)
    module.eval().requires_grad_(False)


def _complaint(what: str, names: list[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return [f"{what} parameters: {', '.join(names[:_LISTED])}{more}"]


def _read_pt(path: Path) -> dict[str, Any]:
    remedy = "download it again"
    if not path.is_file():
        raise BundleError(f"{path} is missing; {remedy}")
    try:
        with path.open("rb") as file:
            zipped = file.read(4) == b"PK\x03\x04"  # older files are bare pickles, which cannot be mapped
        data = torch.load(path, map_location="cpu", weights_only=True, mmap=zipped)
    except (OSError, EOFError, RuntimeError, ValueError, pickle.UnpicklingError) as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BundleError(f"{path} cannot be read as a PyTorch file, it may be cut short ({first_line}); {remedy}") from None
    if not isinstance(data, dict):
        raise BundleError(f"{path} holds a {type(data).__name__}, not a mapping")
    return data


def _official_names(data: Mapping[str, Any], path: Path) -> dict[str, torch.Tensor]:
    """The variations that real files have -> the names of the official table."""
    found: dict[str, torch.Tensor] = {}
    for key, value in data.items():
        if key in _TRAINING_ENTRIES:
            continue
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            raise BundleError(f"{path}: entry {key!r} is no tensor of floating-point numbers")
        name = key.removeprefix("generator.")
        name = re.sub(r"\.weight_g$", ".parametrizations.weight.original0", name)
        name = re.sub(r"\.weight_v$", ".parametrizations.weight.original1", name)
        if name in found:
            raise BundleError(f"{path}: parameter {name} is there twice, once as {key!r}")
        found[name] = value
    return found


def read_speakers(path: Path) -> dict[str, dict[str, np.ndarray]]:
    """`spk2info.pt` as arrays by speaker and entry; empty when there is no such file (the base model may lack it).

    Entries that are no tensors are dropped.
    """
    if not path.exists():
        return {}
    speakers: dict[str, dict[str, np.ndarray]] = {}
    for name, entries in _read_pt(path).items():
        if not isinstance(entries, dict):
            raise BundleError(f"{path}: speaker {name!r} is no mapping")
        speakers[str(name)] = {key: value.numpy() for key, value in entries.items() if isinstance(value, torch.Tensor)}
    return speakers
