#!/usr/bin/env bash
# The tests of models that run through torch and sentence-transformers. They have an environment of their own,
# .venv-torch, over the packages of .venv: where torch is installed the program uses it, and the other tests are about
# the lean installation.
#
#   ./scripts/torch_tests.sh                       with PyTorch for CPUs if its wheel is in the folder that PIP_FIND_LINKS
#                                                  names (1 GB), else with the locked one for CUDA (up to 5 GB)
#   ./scripts/torch_tests.sh --if-small            nothing is done where there is none for CPUs
#   TORCH_WHEEL=FILE ./scripts/torch_tests.sh      with a wheel of your own
#
set -eu
cd "$(dirname "$0")/.."
small=
if [ "${1:-}" = --if-small ]; then
    small=1
    shift
fi
stamp=$(cat requirements.txt requirements-torch.txt requirements-dev.txt | cksum)
if [ "$(cat .venv-torch/installed 2>/dev/null)" != "$stamp" ]; then
    ./scripts/setup.sh
    wheel=${TORCH_WHEEL:-$(sed -n 's/^\(torch==[0-9.]*\).*/\1+cpu/p' requirements-torch.txt)}
    rm -rf .venv-torch
    .venv/bin/python -m venv .venv-torch
    pip() { .venv-torch/bin/python -m pip --disable-pip-version-check "$@"; }
    locked=.venv-torch/without-torch.txt
    if pip install --quiet --no-index --only-binary=:all: --no-deps "$wheel" 2>/dev/null; then
        awk '/^[a-z]/ { keep = !/^(torch|triton|cuda-|nvidia-|setuptools)/ } keep' requirements-torch.txt >"$locked"
    elif [ -n "$small" ]; then
        printf 'No PyTorch for CPUs: its tests are skipped.\n' >&2
        exit 0
    else
        printf 'Installing PyTorch with CUDA into .venv-torch (up to 5 GB) ...\n' >&2
        locked=requirements-torch.txt
    fi
    if ! .venv/bin/python -c 'import pytest, onnx' 2>/dev/null; then
        pip install --quiet --require-hashes --only-binary=:all: --no-deps -r requirements-dev.txt
    fi
    pip install --quiet --require-hashes --only-binary=:all: --no-deps -r "$locked"
    .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
        >"$(.venv-torch/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/librarian-packages.pth"
    printf '%s\n' "$stamp" >.venv-torch/installed
fi
exec .venv-torch/bin/python -m pytest -m torch -p no:cacheprovider backend/tests/embeddings "$@"
