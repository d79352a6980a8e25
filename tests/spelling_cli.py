"""The command line with the spelling voice as one more family: `python -m tests.spelling_cli serve …`."""

import sys

from edge_tts import models
from edge_tts.cli import main

if __name__ == "__main__":
    models.FAMILIES["spelling"] = "tests.spelling_voice"
    sys.exit(main())
