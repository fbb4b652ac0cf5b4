#!/usr/bin/env bash
# Sets up, builds and runs every test; ends with "N passed, M failed".
#   tests/run.sh             everything: the release build's tests, and unit tests under sanitizers
#   tests/run.sh --fast      the release build's tests only
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/deploy/steps.sh"
presets=(release asan tsan)
if [[ ${1:-} == --fast ]]; then presets=(release); fi

# Sanitizers watch the unit tests of all folders; these are what is built and run of their presets.
declare -A sanitized=([asan]=unit [tsan]=unit)
wanted=()
for preset in "${presets[@]}"; do wanted+=("$preset${sanitized[$preset]:+:tests_${sanitized[$preset]}}"); done
"$root/deploy/setup.sh" "${wanted[@]}"

passed=0 failed=0 skipped=0 failures=()

# All tests of the release build, and of the others those of one label.
run_preset() {
  local preset=$1 selection=()
  if [[ -n ${sanitized[$preset]:-} ]]; then selection=(-L "^${sanitized[$preset]}\$"); fi
  local report=$root/build/$preset/ctest.xml
  rm -f "$report"
  # Reports hold whole outputs: the summaries that are counted stand at their ends.
  ctest --test-dir "$root/build/$preset" "${selection[@]}" --output-on-failure --output-junit "$report" --timeout 900 \
    --test-output-size-passed 4000000 --test-output-size-failed 4000000 || true
  if [[ ! -s $report ]]; then
    failures+=("$preset: no test report")
    failed=$((failed + 1))
    return
  fi
  local counts
  counts=$(/usr/bin/python3 "$root/tests/count.py" "$report" 2>"$report.notes")
  cat "$report.notes" >&2
  while read -r line; do failures+=("$preset: $line"); done < <(grep '^failed: ' "$report.notes" || true)
  echo "$preset: $counts"
  local p f s
  read -r p f s <<<"$(tr -dc '0-9 ' <<<"$counts")"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

for preset in "${presets[@]}"; do
  step "Test ($preset)" run_preset "$preset"
done
if ((${#failures[@]} > 0)); then printf '\n'; printf '%s\n' "${failures[@]}"; fi
printf '\n%d skipped (each says why above)\n%d passed, %d failed\n' "$skipped" "$passed" "$failed"
((failed == 0))
