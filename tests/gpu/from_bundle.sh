#!/usr/bin/env bash
# The GPU tests beside the relocatable bundle, for a machine with a GPU that builds nothing.
#   from_bundle.sh pack BUILD_DIR BUNDLE ARCHIVE   adds a build's test programs to the bundle's files
#   from_bundle.sh run FOLDER                      runs them in the unpacked archive
# A test program that tests nothing, because there is no GPU, is a failure.
set -euo pipefail
# Parts of the C library: they must be the machine's own.
system='^(linux-vdso|ld-linux.*|libc|libm|libpthread|libdl|librt|libresolv|libutil)\.so'
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

pack() {
  local build=$1 bundle=$2 archive=$3 test
  local stage=$temporary/gpu-tests
  mkdir "$stage"
  tar -xJf "$bundle" -C "$stage" --strip-components=1
  mkdir "$stage/tests"
  cp "${BASH_SOURCE[0]}" "$stage/tests/"
  for test in "$build"/tests/gpu_*_test; do
    strip -o "$stage/tests/$(basename "$test")" "$test"
    # Libraries that a test needs and no program does.
    ldd "$test" | awk '$2 == "=>" {print $1, $3}' | while read -r soname path; do
      [[ $soname =~ $system || -e $stage/lib/$soname ]] ||
        strip --strip-unneeded -o "$stage/lib/$soname" "$path"
    done
  done
  # One window over everything finds what the test programs share.
  tar -C "$temporary" -cf - gpu-tests | xz -T1 --lzma2=preset=6,dict=512MiB >"$archive"
  echo "$archive: $(ls "$stage/tests" | grep -c '_test$') test programs"
}

run() {
  local folder=$1 test code=0 failed=()
  folder=$(cd "$folder" && pwd)
  "$folder/bin/mlc-worker" --doctor --target cuda || true
  local said=$temporary/said
  export LD_LIBRARY_PATH=$folder/lib
  for test in "$folder"/tests/gpu_*_test; do
    printf '\n==> %s\n' "$(basename "$test")"
    code=0
    timeout 1800 "$test" 2>&1 | tee "$said" || code=$?
    if ((code != 0)); then
      failed+=("$(basename "$test"): exit code $code")
    elif ! grep -qE '^\[  PASSED  \] [1-9]' "$said"; then
      failed+=("$(basename "$test"): no test ran; its reason is above")
    fi
  done
  if ((${#failed[@]} > 0)); then
    printf 'FAILED: %s\n' "${failed[@]}" >&2
    return 1
  fi
}

case ${1:-}:$# in
  pack:4) pack "${@:2}" ;;
  run:2) run "$2" ;;
  *) echo "usage: see the head of $0" >&2; exit 64 ;;
esac
