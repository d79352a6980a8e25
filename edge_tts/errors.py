"""Every error this package raises on purpose.

    EdgeTTSError
    ├── BundleError          a voice bundle is missing, damaged, or made for another version
    ├── EngineError          OpenVINO could not compile or run a graph
    ├── RequestError         this request cannot be served; another one can
    │   ├── UnknownVoiceError
    │   ├── OptionError      an option's name or value
    │   ├── TooLongError     more text than the limit
    │   ├── TooSlowError     the client sends or reads too slowly
    │   └── BusyError        the queue is full; try again
    ├── CancelledError       the request was cancelled by whoever made it
    ├── ServiceError         a socket or a service could not be set up or reached
    └── MissingExtraError    an optional dependency is not installed

Each message names the thing at fault and what to do about it; callers show `str(error)` as it is.
"""


class EdgeTTSError(Exception):
    """Base of all errors raised on purpose."""


class BundleError(EdgeTTSError):
    """A voice bundle is missing, damaged, or made for another version."""


class EngineError(EdgeTTSError):
    """OpenVINO could not compile or run a graph."""


class RequestError(EdgeTTSError):
    """This request cannot be served; another one can."""


class UnknownVoiceError(RequestError):
    """No voice of that name in the bundle; the message lists those there are."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"unknown voice {name!r}; this bundle has: {', '.join(known)}")
        self.name = name
        self.known = known


class OptionError(RequestError):
    """An option's name or value is wrong."""


class TooLongError(RequestError):
    """More text than the limit allows."""


class TooSlowError(RequestError):
    """The client sends its text, or takes its audio, too slowly."""


class BusyError(RequestError):
    """The queue is full; trying again later can succeed."""


class CancelledError(EdgeTTSError):
    """The request was cancelled by whoever made it."""


class ServiceError(EdgeTTSError):
    """A socket or a service could not be set up or reached."""


class MissingExtraError(EdgeTTSError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} is not installed; install it with: pip install 'edge-tts-openvino[{extra}]'")
        self.extra = extra
