"""`python -m edge_tts` is the same as `edge-tts`."""

import sys

from edge_tts.cli import main

sys.exit(main())
