"""The stdio door: `python backend/stdio_server.py [--config FILE] [--root DIR] [--index DIR]`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from librarian.daemon.stdio_bridge import main

if __name__ == "__main__":
    sys.exit(main())
