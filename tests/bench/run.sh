#!/usr/bin/env bash
# Every benchmark in one run: tunes the six networks, compares whole models with the peers, measures
# kernels against the machine's peaks and the log at a million records.
#   tests/bench/run.sh [TRIALS]      trials per network; default: 2000
# Results go to build/bench/results/*.md; docs/benchmarks.md keeps the published ones.
# Nothing else should run on the machine meanwhile.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/deploy/steps.sh"
trials=${1:-2000}
networks=(resnet50 mobilenet_v2 resnet18 bert_base gpt2 vit_b_16)

"$root/deploy/setup.sh" release

bin=$root/build/release/bin
work=$root/build/bench
results=$work/results
python=$work/venv/bin/python
mkdir -p "$results"

install_peers() {
  [[ -x $python ]] || python3 -m venv "$work/venv"
  "$python" -c 'import onnxruntime, torch, torchvision, transformers' 2>/dev/null ||
    "$work/venv/bin/pip" install -q numpy onnx onnxruntime torch torchvision transformers
}
make_networks() {
  local name
  for name in "${networks[@]}"; do
    [[ -s $work/$name.onnx && -s $work/${name}_inputs/input_0.pb ]] ||
      /usr/bin/python3 "$root/tests/models/make_model.py" "$name" "$work/$name.onnx" --inputs "$work/${name}_inputs"
  done
}
tune() { "$bin/mlc-tune" --model "$work/$1.onnx" --trials "$trials" --log "$work/tuning.db"; }
compile() { "$bin/mlc-compile" --model "$work/$1.onnx" --log "$work/tuning.db" -o "$work/${1}_library" --name "$1"; }
tee_to() { local file=$1; shift; "$@" | tee "$results/$file"; }

step "Install the peers" install_peers
step "Make the networks" make_networks
for name in "${networks[@]}"; do
  step "Tune $name" tune "$name"
  step "Compile $name" compile "$name"
done
step "Compare whole models" tee_to models.md "$python" "$root/tests/bench/peers/compare.py" --bin "$bin" --models "$work" --rounds 8
step "Convolutions against the FMA peak" tee_to convolutions.md "$root/build/release/bench/conv_bench" threads=1 trials=40
step "Memory-bound kernels against the copy bandwidth" tee_to memory.md "$root/build/release/bench/memory_bench"
step "The log at a million records" tee_to log.md "$root/build/release/bench/log_bench"
