#!/usr/bin/env bash
# From a fresh machine to a tuned, checked and timed library of ResNet-50.
#   deploy/quickstart.sh [TRIALS]     default: 2000
# Everything it makes is under build/quickstart. Safe to run again: tuning goes on from its log.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/deploy/steps.sh"
trials=${1:-2000}

"$root/deploy/setup.sh" --programs

work=$root/build/quickstart
bin=$root/build/release/bin
mkdir -p "$work"
cd "$work"

make_model() {
  if [[ -s resnet50.onnx && -s inputs/input_0.pb ]]; then
    echo "resnet50.onnx is there"
  else
    /usr/bin/python3 "$root/tests/models/make_model.py" resnet50 resnet50.onnx --inputs inputs
  fi
}
reference() {
  if [[ -s reference/output_0.pb && ! resnet50.onnx -nt reference/output_0.pb ]]; then
    echo "reference/output_0.pb is there"
  else
    "$bin/mlc-run" --reference resnet50.onnx --inputs inputs --outputs reference
  fi
}

# Where setup.sh puts the CUDA compiler and CUPTI on machines without a toolkit: the GPU is tuned for if there is one.
cuda=()
if [[ -d $root/build/cuda/nvidia ]]; then cuda=(--cuda-home "$root/build/cuda"); fi

step "Make resnet50.onnx" make_model
step "Tune resnet50.onnx ($trials trials)" "$bin/mlc-tune" --model resnet50.onnx --trials "$trials" --log tuning.db "${cuda[@]}"
step "Compile the library" "$bin/mlc-compile" --model resnet50.onnx --log tuning.db -o resnet50 "${cuda[@]}"
step "Evaluate the model plainly, for the check" reference
step "Check and time the library" "$bin/mlc-run" resnet50 --inputs inputs --check reference --rtol 1e-4 --bench 3 --profile
