#!/bin/sh
# Makes native/trainer/base again: exports noisy demonstrations of the built-in suite and trains on them.
#
#   native/trainer/make-base.sh [OUT]        2 to 3 minutes of CPU
#
# Needs Node, and Python with NumPy: STEADFAST_PYTHON, else .steadfast/venv, else python3.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
out=${1:-"$root/native/trainer/base"}
python=${STEADFAST_PYTHON:-"$root/.steadfast/venv/bin/python"}
[ -x "$python" ] || python=python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$root"
node infra/setup/build.mjs
node dist/suites/deskbench/demonstrations.js --seed 1 --count 60000 \
  --out "$work/demonstrations.jsonl" --lexicon "$work/lexicon.json"
PYTHONPATH="$root/native/trainer" "$python" -m steadfast_trainer make-base \
  --demonstrations "$work/demonstrations.jsonl" --lexicon "$work/lexicon.json" --out "$out"
