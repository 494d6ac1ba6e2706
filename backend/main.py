"""The HTTP doors, as `librarian serve` opens them: `python backend/main.py [--config FILE] [--root DIR]`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from librarian.cli.main import main

if __name__ == "__main__":
    sys.argv[1:1] = ["serve"]
    sys.exit(main())
