"""`edge-tts bench` as people and programs call it, with the synthetic voice. No figure is judged."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from edge_tts import cli
from edge_tts.bundle import Bundle


@pytest.fixture
def bench(tiny_bundle: Bundle, capsys: pytest.CaptureFixture[str]):
    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            status = cli.main(["bench", "--bundle", str(tiny_bundle.path), *arguments])
        except SystemExit as exit_:
            status = int(exit_.code or 0)
        return status, *capsys.readouterr()

    return run


def test_json_holds_every_figure_and_the_plot_is_a_png(bench, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "bench.png"
    status, out, err = bench("--json", "--repeats", "1", "--clients", "1,2", "--lang", "en", "--plot", str(picture))
    assert status == 0
    data = json.loads(out)
    assert data["schema"] == 1 and data["bundle"]["family"] == "kokoro" and data["bundle"]["recipe"] == "float32"
    assert data["machine"]["processor"]["cores"] >= 1 and "openvino" in data["machine"]["versions"]
    assert [(row["length"], row["state"]) for row in data["rows"]] == [
        (length, state) for length in ("short", "medium", "long") for state in ("new", "repeated")
    ]
    assert all(set(row["rtf"]) == {"median", "low", "high", "n"} for row in data["rows"])
    assert [row["clients"] for row in data["clients"]] == [1, 2]
    assert set(data["start"]["cold"]) == set(data["start"]["warm"]) and data["start"]["cold"]["load_s"] > 0
    memory = data["memory"]
    assert 0 < memory["loaded_mb"] < memory["first_sentence_mb"] < memory["peak_mb"] and memory["end_mb"] <= memory["peak_mb"]
    assert set(data["stages"]["new"]) == set(data["stages"]["repeated"])
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and picture.stat().st_size > 20_000
    assert "start with an empty cache" in err and f"drawn into {picture}" in err


def test_the_table_has_a_line_for_each_figure_and_own_texts_make_their_own_row(bench, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("One line is a text.\n\n这是另一段文字。\n", encoding="utf-8")
    status, out, err = bench("--repeats", "1", "--clients", "2", "--text", str(tmp_path / "mine.txt"))
    assert status == 0, err
    lines = (
        r"tiny \(kokoro, recipe float32\)", r"OpenVINO \d", r"load the voice +\d", r"mine\.txt , new +\d",
        r"mine\.txt , repeated +\d",        r"2 +\d+\.\d s +\d", r"text front end +\d", r"decoder +\d", r"other +\d",
        r"loaded \d+ MB",
        r"at most \d+ MB",
    )  # fmt: skip
    for line in lines:
        assert re.search(line, out), line


def test_endurance_is_a_series_of_memory(bench, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "memory.png"
    status, out, _ = bench("--json", "--endurance", "6", "--plot", str(picture))
    endurance = json.loads(out)["endurance"]
    assert status == 0 and endurance["n_texts"] == 6
    assert [point[0] for point in endurance["points"]] == [1, 2, 3, 4, 5, 6]
    assert all(0 < own <= resident <= endurance["peak_mb"] for _, resident, own in endurance["points"])
    assert endurance["growth_mb"] == round(endurance["points"][-1][1] - endurance["points"][0][1], 1)
    assert picture.read_bytes()[:4] == b"\x89PNG"
    status, out, _ = bench("--endurance", "2")
    assert status == 0 and re.search(r"2 texts, \d", out) and re.search(r"grown by -?\d+ MB", out)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--clients", "1,x"], 2, "invalid"),
        (["--repeats", "0"], 2, "0 is not 1 or more"),
        (["--lang", "xx"], 2, "invalid choice"),
        (["--text", "/no/such/file"], 2, "give --text a readable file"),
        (["--text", "/dev/null"], 2, "is empty; --text wants a text a line"),
        (["--voice", "nobody"], 2, "unknown voice 'nobody'"),
        (["--plot", "/no/such/place/x.png"], 2, "its directory does not exist"),
    ],
)
def test_a_mistake_is_told_before_anything_is_measured(bench, arguments: list[str], status: int, message: str) -> None:
    found, out, err = bench(*arguments)
    assert (found, out) == (status, "") and message in err and "empty cache" not in err


def test_a_plot_without_matplotlib_says_what_to_install(bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, _, err = bench("--plot", str(tmp_path / "x.png"))
    assert status == 69 and "pip install 'edge-tts-openvino[plot]'" in err
