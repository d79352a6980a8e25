"""doctor, status and install-unit, as a user calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from edge_tts import client
from edge_tts.cli import doctor, main, status
from edge_tts.service import units
from tests.service.conftest import Start, start  # noqa: F401
from tests.spelling_voice import write_spelling_bundle


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(client, "default_paths", lambda: [tmp_path / "text.sock"])
    monkeypatch.setattr(units, "SYSTEM_DIRECTORY", tmp_path / "system")
    monkeypatch.setattr(units, "USER_DIRECTORY", tmp_path / "user")
    monkeypatch.setattr(units, "SYSUSERS", tmp_path / "sysusers.conf")


def test_status_sums_up_a_running_service(start: Start, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    pytest.importorskip("prometheus_client")
    running = start()
    list(client.Client(running.path).speak("Hello there."))
    with pytest.raises(Exception, match="unknown voice"):
        list(client.Client(running.path).speak("Hello.", voice="nobody"))
    assert main(["status", "--socket", str(running.path)]) == 0
    lines = dict(line.strip().split("  ", 1) for line in capsys.readouterr().out.splitlines()[1:] if "  " in line.strip())
    shown = {label: value.strip() for label, value in lines.items()}
    assert shown["voice"].startswith("spelling (spelling), loaded")
    assert shown["requests"] == "1 done"
    assert shown["refused"] == "1 unknown-voice"
    assert shown["memory"].endswith(" MB")
    assert "half within" in shown["first audio"]


def test_status_without_a_service_says_where_it_looked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 69
    assert "no service found at" in capsys.readouterr().err


def test_quantiles_are_the_upper_bounds_of_their_buckets() -> None:
    samples = status.Samples({"x_bucket": [({"le": "0.1"}, 5.0), ({"le": "1.0"}, 9.0), ({"le": "+Inf"}, 10.0)]})
    assert samples.quantile("x", 0.5) == 0.1
    assert samples.quantile("x", 0.9) == 1.0
    assert samples.quantile("x", 0.95) == float("inf")
    assert samples.quantile("y", 0.5) is None


def test_doctor_names_what_is_broken_and_the_remedy(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "broken  voices: no voice bundle found" in printed and "python -m convert kokoro" in printed
    bundle = write_spelling_bundle(tmp_path / "XDG_DATA_HOME" / "edge-tts" / "voices" / "spelling")
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert f"ok      voices: {bundle}: spelling, 2 voices" in printed
    (tmp_path / "text.sock").write_text("")
    assert main(["doctor"]) == 1
    assert f"broken  service: {tmp_path}/text.sock" in capsys.readouterr().out


def test_doctor_sees_a_damaged_bundle(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bundle = write_spelling_bundle(tmp_path / "b")
    (bundle / "manifest.json").write_text("{")
    assert main(["doctor", "--bundle", str(bundle)]) == 1
    assert "is not valid JSON" in capsys.readouterr().out


def test_doctor_sees_a_running_service(start: Start, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    running = start()
    main(["doctor", "--socket", str(running.path)])
    assert f"ok      service: {running.path} answers pong" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "grade", "words"),
    [
        ("sse4_2 avx2 avx512_vnni", "ok", "avx512_vnni for int8"),
        ("sse4_2 avx2", "ok", "no VNNI"),
        ("sse4_2", "warning", "lacks AVX2"),
        ("fpu", "broken", "lacks SSE 4.2"),
    ],
)
def test_doctor_judges_the_processor(tmp_path: Path, flags: str, grade: str, words: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"model name\t: Test CPU\nflags\t\t: {flags}\n\nmodel name\t: Other\n")
    (finding,) = doctor.processor(cpuinfo)
    assert finding.grade == grade and words in finding.message and "Test CPU" in finding.message


def test_doctor_sees_units_that_start_nothing(tmp_path: Path) -> None:
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "edge-tts.service").write_text("[Service]\nExecStart=/opt/gone/bin/python -m edge_tts serve\n")
    (finding,) = doctor.installed_units()
    assert finding.grade == "broken" and "/opt/gone/bin/python, which is not there" in finding.message


def test_install_unit_writes_the_users_units(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["install-unit", "--user"]) == 0
    assert sorted(path.name for path in (tmp_path / "user").iterdir()) == [
        "edge-tts-http.socket", "edge-tts-wyoming.socket", "edge-tts.service", "edge-tts.socket",
    ]  # fmt: skip
    assert "systemctl --user enable --now edge-tts.socket" in capsys.readouterr().out


def test_install_unit_writes_the_systems_units_and_its_group(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["install-unit"]) == 0
    assert (tmp_path / "sysusers.conf").read_text().splitlines()[-1] == "g edge-tts -"
    assert "DynamicUser=yes" in (tmp_path / "system" / "edge-tts.service").read_text()
    assert "usermod -aG edge-tts" in capsys.readouterr().out


def test_install_unit_prints_without_writing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["install-unit", "--print"]) == 0
    assert "# --- edge-tts.service" in capsys.readouterr().out
    assert not (tmp_path / "system").exists()


def test_memory_limits_follow_the_bundles_size() -> None:
    small, large = (units.units(user=False, bundle_bytes=size)["edge-tts.service"] for size in (10_000_000, 500_000_000))
    assert small != large
    high, maximum = (next(line for line in large.splitlines() if line.startswith(name)) for name in ("MemoryHigh", "MemoryMax"))
    assert int(high.split("=")[1][:-1]) < int(maximum.split("=")[1][:-1])
