"""Run inside namespaces of its own by test_units: a systemd user manager with the real units, and what the test does with it.

    unshare -m -p -f --mount-proc --kill-child python -m tests.service.in_namespace DIRECTORY

Everything it does to the machine vanishes with the namespaces: the manager sees a /run of its own. It must stay a *user* manager:
a system manager would run systemd-tmpfiles and empty the real /tmp. Prints what it saw as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SENTENCE = "The first sentence is long enough to be stopped in its middle."


def run(*command: str, text: str = "", check: bool = True) -> bytes:
    return subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=check, timeout=60).stdout


def systemctl(*words: str, check: bool = True) -> str:
    return run("systemctl", "--user", *words, check=check).decode().strip()


def wait(condition: Callable[[], bool], what: str, seconds: float = 90) -> None:
    until_s = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until_s:
            raise TimeoutError(f"{what} did not happen within {seconds} s")
        time.sleep(0.05)


def speak(path: Path, text: str) -> str:
    """Through socat; its patience is longer than by default, as the machine that runs tests may be busy."""
    return run("socat", "-t", "20", "-", f"UNIX-CONNECT:{path}", text=text).hex()


def main_pid() -> int:
    return int(systemctl("show", "-p", "MainPID", "--value", "edge-tts.service"))


def is_active() -> str:
    return systemctl("is-active", "edge-tts.service", check=False)


def scenario(path: Path) -> dict[str, object]:
    seen: dict[str, object] = {}
    systemctl("start", "edge-tts.socket")
    seen["before"] = is_active()
    seen["activated"] = speak(path, "Hello from nothing.\n")
    wait(lambda: is_active() == "active", "READY")
    first = main_pid()
    status = Path(f"/proc/{first}/status").read_text()
    seen["status"] = {line.split(":")[0]: line.split(":")[1].strip() for line in status.splitlines()}
    seen["own_network"] = os.readlink(f"/proc/{first}/ns/net") != os.readlink("/proc/self/ns/net")

    systemctl("reload", "edge-tts.service")
    seen["after_reload"] = speak(path, "Hello after reload.\n")
    seen["same_process"] = main_pid() == first

    os.kill(first, signal.SIGKILL)
    seen["after_kill"] = speak(path, "Hello after death.\n")
    wait(lambda: is_active() == "active", "the restart")

    second = main_pid()
    hanging = socket.socket(socket.AF_UNIX)
    hanging.connect(str(path))
    hanging.sendall(b"A standstill.\n")
    wait(lambda: is_active() == "active" and main_pid() not in (0, second), "the watchdog's restart")
    seen["after_watchdog"] = speak(path, "Hello after the watchdog.\n")

    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(str(path))
        client.sendall(f"{SENTENCE} The second sentence is as long as that. And so is the third one after it.\n".encode())
        client.shutdown(socket.SHUT_WR)
        answer = client.recv(65536)
        while not answer[44:].strip(b"\0"):
            answer += client.recv(65536)
        stopping = subprocess.Popen(["systemctl", "--user", "stop", "edge-tts.service"])
        while block := client.recv(65536):
            answer += block
        stopping.wait(30)
    seen["stopped"] = answer.hex()
    seen["after_stop"] = is_active()
    seen["result"] = systemctl("show", "-p", "Result", "--value", "edge-tts.service")
    seen["socket_stands"] = path.is_socket() and systemctl("is-active", "edge-tts.socket") == "active"
    seen["again"] = speak(path, "Hello again.\n")
    return seen


def main() -> None:
    directory = Path(sys.argv[1])
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    runtime = Path("/run/user/0")
    for made in (Path("/run/systemd/system"), runtime):
        made.mkdir(parents=True)
    os.environ.update(
        XDG_RUNTIME_DIR=str(runtime),
        XDG_CONFIG_HOME=str(directory / "config"),
        XDG_DATA_HOME=str(directory / "data"),
        XDG_CACHE_HOME=str(directory / "cache"),
    )
    manager = subprocess.Popen(["/lib/systemd/systemd", "--user", "--log-target=null"], stdout=subprocess.DEVNULL)
    try:
        wait(lambda: bool(systemctl("list-units", "--no-legend", check=False)), "the manager's start")
        print(json.dumps(scenario(runtime / "edge-tts" / "text.sock")))
    finally:
        manager.terminate()
        manager.wait(30)


if __name__ == "__main__":
    main()
