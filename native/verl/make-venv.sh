#!/usr/bin/env bash
# A virtual environment for the Verl bridge on the CPU: what its tests and the conformance suite run on.
#
#   native/verl/make-venv.sh [FOLDER]        FOLDER: .steadfast/venv-verl by default
#
# On GPUs take the environment that Verl has (its extras `vllm` and `fsdp` pin PyTorch, vLLM and the kernels), and name its
# interpreter: STEADFAST_VERL_PYTHON. `npm run test:verl` looks there, or in FOLDER.
set -euo pipefail

TORCH=2.13.0
CPU_INDEX=https://download.pytorch.org/whl/cpu

here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/../../.steadfast/venv-verl}

mkdir -p "$(dirname "$venv")"
"${PYTHON:-python3}" -m venv "$venv"
python=$venv/bin/python
pip=("$python" -m pip install --quiet --disable-pip-version-check --no-input)

if curl --silent --fail --max-time 10 --output /dev/null "$CPU_INDEX/torch/"; then
  "${pip[@]}" --index-url "$CPU_INDEX" "torch==$TORCH"
else
  "${pip[@]}" "torch==$TORCH"
fi
"${pip[@]}" -r "$here/requirements.txt" "torch==$TORCH"
PYTHONPATH=$here:$here/../trainer:$here/../torch VERL_PLATFORM=cpu VERL_ENGINE_DEVICE=cuda \
  VERL_USE_EXTERNAL_MODULES=steadfast_verl.cpu_platform "$python" -c 'import steadfast_verl.learner, steadfast_verl.ray_ranks'
echo "$python"
