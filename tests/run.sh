#!/usr/bin/env bash
# Sets up, builds and runs every test; ends with "N passed, M failed".
#   tests/run.sh             everything: the release build's tests, and the unit tests under sanitizers
#   tests/run.sh --fast      the release build's tests only
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/deploy/steps.sh"
presets=(release asan tsan)
if [[ ${1:-} == --fast ]]; then presets=(release); fi

# Sanitizers watch the unit tests; building more of them would double the time.
"$root/deploy/setup.sh" "${presets[@]/%san/san:tests_unit}"

passed=0 failed=0 skipped=0 failures=()

# Each preset's tests; the sanitizer builds run the unit tests only.
run_preset() {
  local preset=$1 label=()
  if [[ $preset != release ]]; then label=(-L unit); fi
  local report=$root/build/$preset/ctest.xml
  rm -f "$report"
  ctest --test-dir "$root/build/$preset" "${label[@]}" --output-on-failure --output-junit "$report" --timeout 900 || true
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
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0))
