#!/usr/bin/env bash
# Sets up, builds and runs every test; ends with "N passed, M failed".
#   tests/run.sh             everything: the release build's tests, and unit tests under sanitizers
#   tests/run.sh --fast      the release build's tests only
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/deploy/steps.sh"
presets=(release asan tsan)
if [[ ${1:-} == --fast ]]; then presets=(release); fi

# What the sanitizers watch: all that reads foreign text and files, and all that shares memory between threads.
declare -A sanitized=(
  [asan]=base_test,ir_test,target_test,graph_test,passes_test,onnx_test,db_unit_test,runtime_test
  [tsan]=base_test,db_unit_test,runtime_test
)
wanted=()
for preset in "${presets[@]}"; do wanted+=("$preset${sanitized[$preset]:+:${sanitized[$preset]}}"); done
"$root/deploy/setup.sh" "${wanted[@]}"

passed=0 failed=0 skipped=0 failures=()

# All tests of the release build, and of the others those that were built.
run_preset() {
  local preset=$1 selection=()
  if [[ -n ${sanitized[$preset]:-} ]]; then selection=(-R "^(${sanitized[$preset]//,/|})\$"); fi
  local report=$root/build/$preset/ctest.xml
  rm -f "$report"
  ctest --test-dir "$root/build/$preset" "${selection[@]}" --output-on-failure --output-junit "$report" --timeout 900 || true
  if [[ ! -s $report ]]; then
    echo "no test report from the $preset build" >&2
    failed=$((failed + 1))
    return
  fi
  local counts
  counts=$(/usr/bin/python3 "$root/tests/count.py" "$report")
  echo "$preset: $counts"
  local p f s
  read -r p f s <<<"$(tr -dc '0-9 ' <<<"$counts")"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

for preset in "${presets[@]}"; do
  step "Test ($preset)" run_preset "$preset"
done
printf '\n%d skipped (each says why above)\n%d passed, %d failed\n' "$skipped" "$passed" "$failed"
((failed == 0))
