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
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
    printf '%s\n' "$stamp" >.venv/installed-dev
fi

if [ "$#" -gt 0 ]; then
    exec .venv/bin/python -m pytest "$@"
fi
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
status=0
.venv/bin/python -m pytest -n 2 --cov --cov-report=term --cov-fail-under=85 || status=$?
if [ "$status" -eq 1 ]; then
    # What waits for other processes may run out of time beside the rest: it must pass alone.
    printf 'Trying what failed once more, alone:\n' >&2
    exec .venv/bin/python -m pytest --last-failed --last-failed-no-failures none
fi
exit "$status"
