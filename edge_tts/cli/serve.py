"""Speak for other programs: text in through a Unix socket, audio out.

    edge-tts serve --socket ./speech.sock &
    echo "Hello." | socat - UNIX-CONNECT:./speech.sock > hello.wav

Sockets that systemd hands over are served instead of those of the options. Every option can also stand in the configuration
file; `edge-tts config` prints what is in force.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from edge_tts import bundle, config
from edge_tts.errors import ServiceError
from edge_tts.scheduler import VoiceSlot
from edge_tts.service import listening, server, systemd
from edge_tts.service.listening import Listener
from edge_tts.service.metrics import Metrics
from edge_tts.service.metrics import create as create_metrics
from edge_tts.synthesizer import load_voice


def add_arguments(parser: argparse.ArgumentParser) -> None:
    config.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    settings = config.from_arguments(args)
    _log(args.verbose)
    metrics = create_metrics()
    slot = _slot(settings, metrics)
    listeners = _listeners(settings.sockets)
    service = server.Service(settings, slot, metrics)

    def read_again() -> tuple[config.Config, VoiceSlot]:
        changed = config.from_arguments(args)
        return changed, _slot(changed, metrics)

    # The connections' thread asks for the interpreter's lock after every wait; the worker is to give it up sooner than in 5 ms.
    sys.setswitchinterval(0.0005)
    asyncio.run(_serve(service, listeners, read_again))
    return 0


async def _serve(
    service: server.Service,
    listeners: dict[str, list[Listener]],
    read_again: Callable[[], tuple[config.Config, VoiceSlot]],
) -> None:
    """Run the service with signals: SIGTERM and SIGINT stop it, SIGHUP has it read its configuration again."""
    loop = asyncio.get_running_loop()
    reloads: set[asyncio.Task[None]] = set()

    def reload() -> None:
        task = asyncio.create_task(service.reload(read_again))
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.stop)
    loop.add_signal_handler(signal.SIGHUP, reload)
    await service.run(listeners)


def _log(verbose: int) -> None:
    """Log to the journal with fields where standard error leads there, else in lines."""
    handler: logging.Handler
    if systemd.logs_to_journal():
        handler = systemd.JournalHandler()
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(systemd.FieldsFormatter("%(asctime)s %(levelname)s %(message)s"))
    level = logging.DEBUG if verbose else logging.INFO
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("edge_tts").setLevel(level)


def _slot(settings: config.Config, metrics: Metrics) -> VoiceSlot:
    """The configured bundle, its files not yet hashed nor loaded."""
    path = bundle.find(settings.bundle or None)
    opened = bundle.open_bundle(path, verify=False)
    if settings.voice:
        opened.voice(settings.voice)
    return VoiceSlot(opened, lambda: load_voice(path, threads=settings.threads), metrics.model)


def _listeners(sockets: config.Sockets) -> dict[str, list[Listener]]:
    """systemd's sockets by name, or else those of the configuration."""
    handed_over = systemd.listening_sockets()
    if handed_over:
        unknown = ", ".join(sorted(set(handed_over) - set(server.PROTOCOLS)))
        if unknown:
            known = ", ".join(server.PROTOCOLS)
            raise ServiceError(f"systemd hands over a socket named {unknown!r}; set its FileDescriptorName= to one of: {known}")
        return {name: [Listener(each) for each in some] for name, some in handed_over.items()}
    addresses = {"text": sockets.text, "http": sockets.http, "wyoming": sockets.wyoming}
    if not any(addresses.values()):
        addresses["text"] = str(default_socket())
    mode = int(sockets.mode, 8)
    return {
        name: [listening.listen(address, mode=mode, group=sockets.group)] for name, address in addresses.items() if address
    }


def default_socket() -> Path:
    """Where the plain-text socket is without any option; its directory is made if need be."""
    runtime_dir = os.environ.get("XDG_RUNTIME_DIR") or "/run"
    path = Path(runtime_dir) / "edge-tts" / "text.sock"
    try:
        path.parent.mkdir(mode=0o755, exist_ok=True)
    except OSError as error:
        raise ServiceError(f"{path.parent}: {error.strerror}; choose a socket with --socket PATH") from None
    return path
