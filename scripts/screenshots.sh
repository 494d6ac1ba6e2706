#!/bin/sh
# Takes the manual's pictures of the page with the Chromium of scripts/browser.sh, and measures its weight and first paint.
#   ./scripts/screenshots.sh            pictures into images
#   ./scripts/screenshots.sh FOLDER     pictures into FOLDER
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python
[ -x "$python" ] || python=${PYTHON:-python3}
PYTHONPATH=backend exec "$python" scripts/screenshots.py "${1:-images}"
