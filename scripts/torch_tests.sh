#!/usr/bin/env bash
# The tests that compare with torch and sentence-transformers. They have an environment of their own, .venv-torch:
# where torch is installed the program uses it, and the other tests are about the lean installation.
#
#   ./scripts/torch_tests.sh                       with the PyTorch of the package index (with CUDA up to 5 GB)
#   TORCH_WHEEL=FILE ./scripts/torch_tests.sh      with a wheel of your own, for example a build without CUDA
set -eu
cd "$(dirname "$0")/.."
stamp=$(cat requirements.txt requirements-torch.txt requirements-dev.txt | cksum)
if [ "$(cat .venv-torch/installed 2>/dev/null)" != "$stamp" ]; then
    printf 'Installing torch into .venv-torch (up to 5 GB) ...\n' >&2
    ./scripts/setup.sh
    .venv/bin/python -m venv .venv-torch
    pip() { .venv-torch/bin/python -m pip --disable-pip-version-check "$@"; }
    locked=requirements-torch.txt
    if [ -n "${TORCH_WHEEL:-}" ]; then
        pip install --quiet --no-index --no-deps "$TORCH_WHEEL"
        locked=.venv-torch/without-torch.txt
        awk '/^[a-z]/ { keep = !/^(torch|triton|cuda-|nvidia-)/ } keep' requirements-torch.txt >"$locked"
    fi
    pip install --quiet --require-hashes --only-binary=:all: --no-deps \
        -r requirements.txt -r "$locked" -r requirements-dev.txt
    printf '%s\n' "$stamp" >.venv-torch/installed
fi
exec .venv-torch/bin/python -m pytest -m torch backend/tests/models "$@"
