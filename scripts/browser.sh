#!/bin/sh
# Installs Chromium and its driver from Debian's packages, for the tests marked `browser` and for scripts/screenshots.sh.
#   ./scripts/browser.sh
set -eu
if command -v chromium > /dev/null && command -v chromedriver > /dev/null; then exit 0; fi
command -v apt-get > /dev/null || { echo "No apt-get here: install chromium and chromedriver by hand." >&2; exit 78; }
[ "$(id -u)" = 0 ] || { echo "Run this as root: apt-get needs it." >&2; exit 78; }
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core > /dev/null
echo "Ready: pytest -m browser"
