from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from edge_tts.bundle import Bundle


def run(*arguments: str, text: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "edge_tts", *arguments], input=text, capture_output=True, check=False)


def test_each_line_is_answered_by_what_is_spoken() -> None:
    done = run("normalize", text="它有2个。\n\nIt is 5 pm.\n".encode())
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == "它有两个。\n\nIt is five p m.\n"


def test_json_tells_the_language_of_each_sentence() -> None:
    done = run("normalize", "--json", text="他有3只猫，真的很可爱。 He has 3 dogs and they are nice.".encode())
    assert json.loads(done.stdout) == {
        "text": "他有3只猫，真的很可爱。 He has 3 dogs and they are nice.",
        "sentences": [
            {"lang": "zh", "text": "他有三只猫，真的很可爱。"},
            {"lang": "en", "text": "He has three dogs and they are nice."},
        ],
    }


def test_a_language_may_be_said() -> None:
    assert run("normalize", "--lang", "ja", text="3本".encode()).stdout.decode() == "さんぼん。\n"


def test_invalid_bytes_are_no_error() -> None:
    assert run("normalize", text=b"hi \xff there").stdout == b"hi there.\n"


def test_a_lexicon_is_used_and_a_wrong_one_refused(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("kubectl = cube control\n", encoding="utf-8")
    assert run("normalize", "--lexicon", str(words), text=b"kubectl now").stdout == b"cube control now.\n"
    words.write_text("kubectl\n", encoding="utf-8")
    done = run("normalize", "--lexicon", str(words), text=b"kubectl")
    assert done.returncode == 2
    assert b"line 1" in done.stderr


def test_phonemes_show_what_a_voice_is_given(tiny_bundle: Bundle) -> None:
    done = run("phonemes", "--json", "--bundle", str(tiny_bundle.path), text="还钱".encode())
    assert json.loads(done.stdout)["sentences"] == [{"lang": "zh", "text": "还钱。", "phonemes": "xwa↗n ʨʰjɛ↗n."}]
