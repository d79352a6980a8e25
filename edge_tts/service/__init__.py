"""The service: sockets, protocols, systemd, metrics. Speaks through `edge_tts.scheduler`; knows nothing of models."""
