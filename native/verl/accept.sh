#!/usr/bin/env bash
# Acceptance of the Verl bridge on real GPUs: the conformance suite, a rank that is killed, and a replica that is.
#
#   native/verl/accept.sh COMMAND_FILE FOLDER [more options of `steadfast_verl serve`]
#
# COMMAND_FILE: what `steadfast train --file RUN.yaml --dry-run --show verl` printed, with `strategy: fsdp2`; its GPUs are
# used, nothing else may run on them. FOLDER: shared by all hosts, with room for six checkpoints. STEADFAST_VERL_PYTHON is
# Verl's interpreter; on several hosts RAY_ADDRESS names the cluster, and STEADFAST_VERL_RANK_HOST the host to kill the last
# rank and the last replica on by ssh (this host when absent). Verl's own vLLM replicas sample, on the GPUs of the ranks;
# with `--vllm http://host:port` a vLLM server on others does (docs/torch.md says how it is started), with `--rollout ranks`
# the ranks do, each with the whole model in its memory meanwhile.
#
# It must print, and exit with 0:
#   0 broken                        of the conformance suite
#   the ranks are lost: ...         after each kill, in FOLDER/bridge.log
#   accepted: ranks ... replaced by ...
#   accepted: replicas ... replaced by ...       where they sample
# A small model takes minutes. One of 27 billion parameters writes about 40 checkpoints of 320 GB in the suite: name the
# checks that matter instead (CHECKS="update-once re-apply ..."). Without GPUs: `--device cpu --rollout replicas`.
set -euo pipefail

if [ $# -lt 2 ]; then
  sed -n '2,19p' "$0"
  exit 2
fi
command=$(realpath "$1") folder=$(realpath -m "$2")
shift 2
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
mkdir -p "$folder"
export PYTHONPATH=$here:$here/../trainer:$here/../torch PYTHONUNBUFFERED=1

"${STEADFAST_VERL_PYTHON:?names the interpreter of Verl}" -m steadfast_verl serve --port 0 --home "$folder/home" \
  --command "$command" "$@" >"$folder/bridge.log" 2>&1 &
bridge=$!
trap 'kill $bridge 2>/dev/null; wait $bridge 2>/dev/null || true' EXIT

# Logs of Ray's actors come into the same file, also in the middle of a line.
said() { { grep -oE "$1" "$folder/bridge.log" || true; } | tail -1; }
until url=$(said 'trainer listening on http://[a-z0-9.]+:[0-9]+') && url=${url##* } && [ -n "$url" ]; do
  kill -0 $bridge || { tail -20 "$folder/bridge.log"; exit 1; }
  sleep 2
done
echo "bridge: $url"

cd "$root"
npx steadfast verify trainer --endpoint "$url" --folder "$folder" ${CHECKS:+--check $CHECKS}

# Process ids of `ranks` or `replicas`, as they were started last.
started() { said "[0-9]+ $1: \[[0-9, ]*\]" | tr -d '[]' | sed 's/.*: //'; }
losses() { grep -c 'the ranks are lost' "$folder/bridge.log" || true; }
for kind in ranks replicas; do
  before=$(started $kind) lost=$(losses)
  [ -n "$before" ] || continue
  victim=${before##*, }
  ${STEADFAST_VERL_RANK_HOST:+ssh "$STEADFAST_VERL_RANK_HOST"} kill -9 "$victim"
  # The first check meets the dead one or its successors; the second must hold.
  npx steadfast verify trainer --endpoint "$url" --folder "$folder" --force --check update-once || true
  npx steadfast verify trainer --endpoint "$url" --folder "$folder" --force --check update-once re-apply
  after=$(started $kind)
  [ "$(losses)" -gt "$lost" ] || { echo "the loss of $victim, one of the $kind, was not seen"; exit 1; }
  [ "$before" != "$after" ] || { echo "no new $kind: still $before"; exit 1; }
  echo "accepted: $kind $before replaced by $after after one was killed"
done
