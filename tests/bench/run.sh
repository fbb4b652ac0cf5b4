#!/usr/bin/env bash
# Every benchmark in one run, an estimated hour: tunes the six networks, compares whole models with the peers, measures kernels
# against the machine's peaks, the search, memory, libraries, the worker's timings and a log of a million records.
#   tests/bench/run.sh [--python PYTHON] [--trials N] [--build FOLDER] [--only STEP,...]
#     --python   an interpreter with numpy, onnx, onnxruntime, onnxscript, torch, torchvision, timm and transformers;
#                default: a virtual environment in build/bench/venv, made when it is missing
#     --trials   for resnet50; the other networks get 400 at most. Default: 2000
#     --build    a build folder to use instead of build/release
#     --only     of: tune, models, breadth, convolutions, memory_bound, few_bits, search, costs, log, worker,
#                service
# Results go to build/bench/results/*.md; docs/benchmarks/cpu.md keeps the published ones. Nothing else should run meanwhile.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/deploy/steps.sh"
bench=$root/tests/bench
work=$root/build/bench
results=$work/results
bin=$root/build/release/bin
programs=$root/build/release/bench
python= trials=2000 only=tune,models,breadth,convolutions,memory_bound,few_bits,search,costs,log,worker,service
networks=(resnet50 mobilenet_v2 resnet18 bert_base gpt2 vit_b_16)
while (($# > 0)); do
  case $1 in
    --python) python=$2 ;;
    --trials) trials=$2 ;;
    --only) only=$2 ;;
    --build) bin=$2/bin programs=$2/bench ;;
    *) echo "run.sh: unknown argument '$1'" >&2; exit 64 ;;
  esac
  shift 2
done

wanted() { [[ ,$only, == *,$1,* ]]; }
tee_to() { local file=$results/$1; shift; "$@" | tee "$file"; }

install_peers() {
  python=$work/venv/bin/python
  [[ -x $python ]] || python3 -m venv "$work/venv"
  "$python" -c 'import onnxruntime, onnxscript, timm, torch, torchvision, transformers' 2>/dev/null ||
    "$work/venv/bin/pip" install -q numpy onnx onnxruntime onnxscript timm torch torchvision transformers
}
make_networks() {
  local name
  for name in "${networks[@]}"; do
    [[ -s $work/$name.onnx && -s $work/${name}_inputs/input_0.pb ]] ||
      /usr/bin/python3 "$root/tests/models/make_model.py" "$name" "$work/$name.onnx" --inputs "$work/${name}_inputs"
  done
}
tune() {
  local count=$trials
  if [[ $1 != resnet50 ]] && ((count > 400)); then count=400; fi
  "$bin/mlc-tune" --model "$work/$1.onnx" --trials "$count" --log "$work/tuning.db" | tail -n 3
}
compile() { "$bin/mlc-compile" --model "$work/$1.onnx" --log "$work/tuning.db" -o "$work/${1}_library" --name "$1" >/dev/null; }
memory() {
  rm -f "$work"/memory.db*
  python3 "$bench/peak_memory.py" --weights "$work/resnet50.onnx" "$bin/mlc-tune" --model "$work/resnet50.onnx" --trials 400 \
    --log "$work/memory.db" 2>/dev/null
  python3 "$bench/peak_memory.py" --every 0.005 --weights "$work/resnet50.onnx" "$bin/mlc-compile" --model "$work/resnet50.onnx" \
    --log "$work/memory.db" -o "$work/memory_library" --name resnet50 2>/dev/null
}
costs() {
  memory
  local folders=("${networks[@]/%/_library}")
  python3 "$bench/library_cost.py" --bin "$bin" "${folders[@]/#/$work/}"
}
# The workload of one convolution, out of the log.
disturbance() {
  python3 - "$work/tuning.db" >"$work/watched.txt" <<'PYTHON'
import sqlite3, sys
log = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
print(log.execute("SELECT text FROM workload WHERE summary LIKE '%3x3 128->128 28x28 s1%'").fetchone()[0])
PYTHON
  "$programs/disturbance_bench" "$work/watched.txt" 30
}

if [[ $bin == "$root/build/release/bin" ]]; then "$root/deploy/setup.sh" release; fi
mkdir -p "$results" "$work/log"
if [[ -z $python ]] && { wanted models || wanted breadth; }; then step "Install the peers" install_peers; fi
step "Make the networks" make_networks
if wanted tune; then
  for name in "${networks[@]}"; do
    step "Tune $name" tune "$name"
    step "Compile $name" compile "$name"
  done
fi
if wanted models; then
  step "Compare whole models" tee_to models.md "$python" "$bench/peers/compare.py" --bin "$bin" --models "$work" --rounds 6
fi
if wanted breadth; then
  step "Networks that nobody tried before" tee_to breadth.md "$python" "$bench/peers/breadth.py" --bin "$bin" --work "$work/breadth"
fi
if wanted convolutions; then
  step "Convolutions against the FMA peak" tee_to convolutions.txt "$programs/conv_bench" threads=1 trials=40 seconds=150
fi
if wanted memory_bound; then
  step "Memory-bound kernels against the copy bandwidth" tee_to memory_bound.txt "$programs/memory_bench" limit=40
fi
if wanted few_bits; then step "Products with weights of few bits" tee_to few_bits.txt "$programs/packed_bench"; fi
if wanted search; then
  step "Few trials against many; a second tuning" tee_to search.md python3 "$bench/search_quality.py" --bin "$bin" --work "$work" \
    --trials "$trials" --budget 420
fi
if wanted costs; then step "Memory, load, size" tee_to costs.md costs; fi
if wanted worker; then step "Timings alone and in company" tee_to worker.txt disturbance; fi
service() {
  "$programs/service_bench" "$work/service" --seconds 600 --warmup 20 --batch 64 --slots 4 --rate 1030 --jobs 16
  "$programs/service_bench" "$work/service" --batch 64 --slots 4 --rate 550 --jobs 12 --best 2000
}
if wanted service; then step "Proposed configs a second" tee_to proposals.md "$programs/proposal_bench" "$work/resnet50.onnx"; fi
if wanted service; then step "A server under load" tee_to service.txt service; fi
if wanted log; then step "The log at a million records" tee_to log.txt "$programs/log_bench" "$work/log"; fi
