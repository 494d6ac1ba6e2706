#!/usr/bin/env bash
# Sets up what is missing, then checks style and types and runs the tests.
#
#   ./scripts/test.sh                               everything; less than 85% branch coverage fails
#   ./scripts/test.sh backend/tests/config -k mode  arguments go to pytest, without style, types and coverage
set -eu
cd "$(dirname "$0")/.."
./scripts/setup.sh

stamp=$(cat .venv/installed requirements-dev.txt | cksum)
if [ "$(cat .venv/installed-dev 2>/dev/null)" != "$stamp" ]; then
    printf 'Installing the test tools ...\n' >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary=:all: --no-deps \
        -r requirements-dev.txt
    printf '%s\n' "$stamp" >.venv/installed-dev
fi

# Hundreds of processes are started: without compiled files each would compile the program once more.
unset PYTHONDONTWRITEBYTECODE
# Thousands of small commits are made: in memory, where 4 GB are free there, none of them waits for a disk.
memory=/dev/shm
if [ -z "${TMPDIR:-}" ] && [ -w "$memory" ] && [ "$(df -Pk "$memory" | awk 'NR == 2 { print $4 }')" -gt 4000000 ]; then
    TMPDIR=$(mktemp -d "$memory/tests.XXXXXX")
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
    chmod 1777 "$TMPDIR"  # like /tmp: the tests' PostgreSQL has another user where they are root's
fi

if [ "$#" -gt 0 ]; then
    .venv/bin/python -m pytest "$@"
    exit
fi
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
.venv/bin/lint-imports --no-cache
.venv/bin/python -m pytest -n 2 --dist worksteal --cov --cov-report=term --cov-fail-under=85
