#!/usr/bin/env bash
# Sets up, builds and runs tests; ends with "N passed, M failed".
#   tests/run.sh                    the release build's tests, without lint
#   tests/run.sh --all              also lint, the fuzz targets for 20 seconds each, and unit tests under sanitizers
#   tests/run.sh --all --within MINUTES   what is not built by then is skipped, and said to be
#   tests/run.sh --only PART        one part of all: release (without layering), layering (formatting, lint, headers,
#                                   include arrows), fuzz, asan or tsan
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/deploy/steps.sh"
presets=() within= only= all=
while (($# > 0)); do
  case $1 in
    --all) all=yes presets=(fuzz asan tsan) ;;
    --within)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "--within takes whole minutes, at least 1" >&2; exit 64; }
      within=$2
      shift
      ;;
    --only)
      case ${2:-} in
        release | layering) presets=() ;;
        fuzz | asan | tsan) presets=("$2") ;;
        *) echo "--only takes release, layering, fuzz, asan or tsan" >&2; exit 64 ;;
      esac
      only=$2
      shift
      ;;
    *) echo "unknown argument '$1': see the head of tests/run.sh" >&2; exit 64 ;;
  esac
  shift
done

passed=0 failed=0 skipped=0 failures=()

# run_tests PRESET [CTEST ARGUMENTS]...: adds to the counts. Two at a time: a test's programs have threads of their own.
run_tests() {
  local preset=$1 report=$root/build/$1/ctest.xml
  rm -f "$report"
  # Reports hold whole outputs: the summaries that are counted stand at their ends.
  ctest --test-dir "$root/build/$preset" "${@:2}" -j 2 --output-on-failure --output-junit "$report" --timeout 900 \
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

# Sanitizers watch the unit tests of all folders, and libFuzzer its targets; only these are built of their presets.
run_preset() {
  local preset=$1 targets=tests_unit label=unit code=0 left=()
  if [[ $preset == fuzz ]]; then
    targets=fuzz_targets label=coverage
    if ! command -v clang++-14 >/dev/null; then
      echo "skipped: fuzz takes clang++-14, which is not installed"
      skipped=$((skipped + 1))
      return
    fi
  fi
  if [[ $within ]]; then
    # For the tests themselves: TSan's keep two cores busy for five minutes, and wait for others.
    local seconds=$((within * 60 - SECONDS - 540))
    left=(timeout "$((seconds > 1 ? seconds : 1))")
  fi
  "${left[@]}" "$root/deploy/setup.sh" "$preset:$targets" || code=$?
  if ((code == 124)); then
    echo "skipped: $preset was not built within $within minutes"
    skipped=$((skipped + 1))
  elif ((code != 0)); then
    failures+=("$preset: the build failed")
    failed=$((failed + 1))
  else
    step "Test ($preset)" run_tests "$preset" -L "^$label\$"
  fi
}

case $only in
  '')
    "$root/deploy/setup.sh" release
    # Lint and self-contained headers compile every file once more.
    lint=(-E '^(tidy|headers)$')
    if [[ $all ]]; then lint=(); fi
    step "Test (release)" run_tests release "${lint[@]}"
    ;;
  release)
    "$root/deploy/setup.sh" release
    step "Test (release)" run_tests release -LE '^layering$'
    ;;
  layering)
    # Lint reads the generated headers; the rest of these tests builds what it needs.
    "$root/deploy/setup.sh" release:mlc_proto
    step "Test (layering)" run_tests release -L '^layering$'
    ;;
esac
for preset in "${presets[@]}"; do run_preset "$preset"; done
if ((${#failures[@]} > 0)); then printf '\n'; printf '%s\n' "${failures[@]}"; fi
printf '\n%d skipped (each says why above)\n%d passed, %d failed\n' "$skipped" "$passed" "$failed"
((failed == 0))
