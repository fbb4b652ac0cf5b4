#!/usr/bin/env bash
# Runs one libFuzzer target over its corpus and new inputs: see ../README.md.
#   tests/fuzz/coverage/run.sh TARGET [SECONDS] [LIBFUZZER ARGUMENT]...
# TARGET is onnx, graph_text, kernel_text, small_texts, records, child_messages or wire_messages; SECONDS is 20 unless
# given. New inputs that reach new code stay in build/fuzz/found/TARGET, where the next run begins; one that fails is
# written to build/fuzz/failed/TARGET-*.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
target=${1:?a target is needed: see the head of $0} seconds=${2:-20}
shift $(($# > 1 ? 2 : 1))
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "SECONDS is a whole number, at least 1" >&2; exit 64; }
program=$root/build/fuzz/tests/fuzz_$target
if [[ ! -x $program ]]; then
  echo "there is no $program: build it with deploy/setup.sh fuzz:fuzz_$target" >&2
  exit 69
fi
mkdir -p "$root/build/fuzz/found/$target" "$root/build/fuzz/failed"
arguments=(-max_total_time="$seconds" -seed=1 -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=512
  -max_len=16384 -artifact_prefix="$root/build/fuzz/failed/$target-" -print_final_stats=1)
if [[ -s $here/$target.dict ]]; then arguments+=(-dict="$here/$target.dict"); fi
found=$root/build/fuzz/found/$target
exec "$program" "${arguments[@]}" "$@" "$found" "$here/corpus/$target"
