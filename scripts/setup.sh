#!/usr/bin/env bash
# Sets up what is missing: .venv and the pinned dependencies. Says nothing where all is there.
#
#   ./scripts/setup.sh              PYTHON=/path/to/python3 chooses another Python than the first one found
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

usable() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    for name in "${PYTHON:-}" python3.13 python3.12 python3.11 python3 python; do
        if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 && usable "$name"; then
            printf '%s\n' "$name"
            return 0
        fi
    done
    for name in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-9]*/bin/python3; do
        if [ -x "$name" ] && usable "$name"; then
            printf '%s\n' "$name"
            return 0
        fi
    done
    say "Librarian needs Python 3.11 or newer, with its venv module. None was found."
    say "  Debian, Ubuntu:  sudo apt install python3 python3-venv"
    say "  macOS:           brew install python@3.13"
    say "  or name one:     PYTHON=/path/to/python3 $0"
    return 78
}

if ! .venv/bin/python -c '' >/dev/null 2>&1; then
    python=$(find_python)
    say "Creating .venv with $("$python" --version) ..."
    rm -rf .venv
    "$python" -m venv .venv
fi

stamp=$(cat requirements.txt requirements-build.txt pyproject.toml | cksum)
if [ "$(cat .venv/installed 2>/dev/null)" != "$stamp" ]; then
    say "Installing the pinned dependencies (about a minute) ..."
    # The files name every package of every platform with its SHA-256, so nothing is resolved and no package's code runs.
    # Only what a start imports is compiled: that is a tenth of all the packages' code.
    pip() { .venv/bin/python -m pip --disable-pip-version-check "$@"; }
    pip install --quiet --no-compile --require-hashes --only-binary=:all: --no-deps -r requirements.txt -r requirements-build.txt
    pip install --quiet --no-index --no-build-isolation --no-deps -e .
    if ! conflicts=$(pip check); then
        say "Warning: packages in .venv don't fit together. Delete .venv and run this again."
        say "$conflicts"
    fi
    env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -c 'import chromadb, librarian.bootstrap, librarian.web.app, onnxruntime'
    printf '%s\n' "$stamp" >.venv/installed
fi
