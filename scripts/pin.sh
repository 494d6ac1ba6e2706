#!/usr/bin/env bash
# Locks pyproject.toml's dependencies, extras and groups in requirements*.txt: every package that any platform needs, with
# its version and the SHA-256 of each of its files. Versions stay as they are unless an option asks for others.
#
#   ./scripts/pin.sh                            after a change of pyproject.toml
#   ./scripts/pin.sh --upgrade-package mcp      takes the options of `uv pip compile`
set -eu
cd "$(dirname "$0")/.."
uv=${UV:-.venv/bin/uv}
[ -x "$uv" ] || { echo "uv is missing: run ./scripts/test.sh once, which installs the development tools." >&2; exit 78; }
options=("$@")
pins=$(mktemp)
trap 'rm -f "$pins"' EXIT

# lock FILE WHAT...: writes FILE with what WHAT needs.
lock() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
        --custom-compile-command ./scripts/pin.sh ${options[@]+"${options[@]}"} --output-file "$@"
}

# add FILE WHAT...: the same without what requirements.txt holds, and in agreement with it but for the packages in $apart.
add() {
    sed -n 's/^\([a-z0-9-]*==[^ ]*\).*/\1/p' requirements.txt | grep -vE "^(${apart:-none})==" >"$pins"
    # shellcheck disable=SC2046
    lock "$@" --constraint "$pins" $(sed 's/^\(.*\)==.*/--no-emit-package \1/' "$pins")
}

lock requirements.txt pyproject.toml
for extra in postgres qdrant sqlite-vec torch; do
    add "requirements-$extra.txt" pyproject.toml --extra "$extra"
done
# Amazon's library wants python-dateutil 2 and kubernetes 37 wants 4: with this extra both are older.
apart='kubernetes|python-dateutil' add requirements-bedrock.txt pyproject.toml --extra bedrock
add requirements-build.txt --group build
add requirements-node.txt --group node
add requirements-dev.txt pyproject.toml --extra postgres --extra qdrant --extra sqlite-vec --group dev
