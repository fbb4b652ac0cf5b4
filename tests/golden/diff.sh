#!/usr/bin/env bash
# Shows what a change does to generated kernels: a unified diff of the kernel IR behind each digest
# of kernels.txt that differs.
#   tests/golden/diff.sh [BASE]     compares the working tree with the commit BASE; default: HEAD
# Builds replay_test of both sides (deploy/setup.sh must have run once). The diff goes to standard
# output, a count to standard error. Exit code 0: no kernel differs; 1: some do.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
base=$(git -C "$root" rev-parse --verify --quiet "${1:-HEAD}^{commit}") || {
  echo "'${1:-HEAD}' is no commit" >&2
  exit 64
}
work=$root/build/golden
tree=$work/source-$base

# texts SOURCE FOLDER: builds the test in a tree and writes all kernels to the folder.
texts() {
  local source=$1 folder=$2 log=$work/build.log
  rm -rf "$folder"
  {
    cmake --preset release -S "$source" && ninja -C "$source/build/release" replay_test
  } >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    echo "$source does not build" >&2
    exit 70
  }
  # Digests that differ fail the test; that is what the diff explains.
  MLC_KERNEL_TEXTS=$folder "$source/build/release/tests/replay_test" \
    --gtest_filter=Replay.KernelsAreTheOnesOnRecord >"$log" 2>&1 || true
  if ! compgen -G "$folder/*.txt" >/dev/null; then
    tail -n 40 "$log" >&2
    echo "replay_test of $source wrote no kernels" >&2
    exit 70
  fi
}

mkdir -p "$work"
if [[ ! -d $tree ]]; then
  rm -rf "$work"/source-*
  mkdir "$tree"
  git -C "$root" archive "$base" | tar -x -C "$tree"
  # A commit from before this script: its compiler with today's test.
  if ! grep -q MLC_KERNEL_TEXTS "$tree/tests/golden/golden_main.cc"; then
    cp "$root"/tests/golden/{golden.cc,golden.h,golden_main.cc,replay_test.cc} "$tree/tests/golden/"
  fi
fi
texts "$tree" "$work/before"
texts "$root" "$work/after"

cd "$work"
code=0
git --no-pager diff --no-index --no-color before after || code=1
count=$(diff -rq before after | wc -l) || true
echo "$count of $(ls after | wc -l) kernels differ from $base" >&2
exit "$code"
