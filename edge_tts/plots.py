"""What whoever draws a picture checks first."""

from __future__ import annotations

from pathlib import Path

from edge_tts.errors import MissingExtraError, OptionError


def check_plot(path: Path) -> None:
    """OptionError or MissingExtraError before minutes are spent on figures that could not be drawn into this file."""
    if not path.absolute().parent.is_dir():
        raise OptionError(f"{path}: its directory does not exist; make it first")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("matplotlib, which draws,", "plot") from None
