#!/usr/bin/env bash
# A virtual environment for the PyTorch trainer.
#
#   native/torch/make-venv.sh [FOLDER]        FOLDER: .steadfast/venv-torch by default
#
# With an NVIDIA GPU the CUDA build of PyTorch (about 5 GB), without one its CPU build (1.2 GB) where PyTorch's own index
# can be reached, else the build that PyPI has. The stack and `npm run test:torch` look for it there, or at
# STEADFAST_TORCH_PYTHON.
set -euo pipefail

TORCH=2.13.0
CPU_INDEX=https://download.pytorch.org/whl/cpu

here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/../../.steadfast/venv-torch}

mkdir -p "$(dirname "$venv")"
"${PYTHON:-python3}" -m venv "$venv"
python=$venv/bin/python
pip=("$python" -m pip install --quiet --disable-pip-version-check --no-input)

if ! command -v nvidia-smi >/dev/null && curl --silent --fail --max-time 10 --output /dev/null "$CPU_INDEX/torch/"; then
  "${pip[@]}" --index-url "$CPU_INDEX" "torch==$TORCH"
else
  "${pip[@]}" "torch==$TORCH"
fi
"${pip[@]}" -r "$here/requirements.txt" "torch==$TORCH"
PYTHONPATH=$here:$here/../trainer "$python" -c 'import steadfast_torch.command, steadfast_torch.learner, steadfast_torch.lora'
echo "$python"
