#!/usr/bin/env bash
# All figures of one GPU, in eight minutes at most: the suite, encoding, search and training. Prints one line of JSON for
# each, and what failed or took too long; the rest goes on.
#
#   PYTHON=.venv/bin/python bash research/benchmarks/gpu.sh > gpu.ndjson
#   DEVICE=cpu SHARE=0.01 bash research/benchmarks/gpu.sh    # without a GPU: a hundredth of everything, to try the script
set -u
PYTHON=${PYTHON:-.venv/bin/python}
DEVICE=${DEVICE:-cuda}
SHARE=${SHARE:-1}

part() { awk "BEGIN { print $1 * $SHARE }"; }

# Runs a command with a limit in seconds, which is not exceeded.
within() {
    local limit=$1
    shift
    timeout --kill-after=5 "$limit" "$@" || echo "{\"failed\": \"$*\", \"status\": $?}"
}

figures() {
    local limit=$1 what=$2
    shift 2
    within "$limit" "$PYTHON" -m research.benchmarks.gpu "$what" --device "$DEVICE" "$@"
}

if [ "$DEVICE" = cuda ]; then
    nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader >&2 || true
    TEST_DEVICE=cuda within 90 "$PYTHON" -m pytest -q tests/device >&2
fi
figures 60 encoding --gigabytes "$(part 1)" --seconds "$(part 25)"
figures 80 encoding --gigabytes "$(part 8)" --seconds "$(part 45)"
figures 90 search --units "$(part 1000000)" --seconds "$(part 20)"
figures 120 search --units "$(part 10000000)" --seconds "$(part 20)"
figures 35 training --seconds "$(part 15)"
