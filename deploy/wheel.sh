#!/usr/bin/env bash
# Makes the Python package as a wheel, with programs and libraries:
#   deploy/wheel.sh                            builds the programs, writes dist/mlc_tune-VERSION-py3-none-PLATFORM.whl
#   deploy/wheel.sh --build BUILD_DIR DIST_DIR   of a finished build, into another folder
# It holds the files of the bundle (bundle.sh), a bill of materials and all licences. GCC's libraries are the machine's own:
# those of Debian 12 need glibc 2.36, and each machine with glibc 2.35 has some that are new enough. The same commit gives
# the same bytes: all times are that of the commit, or SOURCE_DATE_EPOCH.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release dist=$root/dist
glibc=2.35 glibcxx=3.4.30
if [[ ${1:-} == --build ]]; then
  (($# == 3)) || { echo "--build takes two folders: see the head of deploy/wheel.sh" >&2; exit 64; }
  build=$2 dist=$3
elif (($# > 0)); then
  echo "unknown argument '$1': see the head of deploy/wheel.sh" >&2
  exit 64
else
  "$root/deploy/setup.sh" --programs
fi
version=$(sed -n 's/^project(mlc-tune VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
  SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
fi
export SOURCE_DATE_EPOCH
mkdir -p "$dist"
work=$(mktemp -d "$dist/wheel.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$root/deploy/bundle.sh" --tree "$build" "$work/tree" "$version"
rm "$work"/tree/lib/libstdc++.so.6 "$work"/tree/lib/libgcc_s.so.1
objdump -T "$work"/tree/bin/* "$work"/tree/lib/*.so* >"$work/symbols"
for most in "GLIBC_$glibc" "GLIBCXX_$glibcxx"; do
  newest=$(grep -oE "\b${most%%_*}_[0-9.]+\b" "$work/symbols" | sort -uV | tail -n 1)
  if [[ $(printf '%s\n' "$most" "$newest" | sort -V | tail -n 1) != "$most" ]]; then
    echo "the programs need $newest, newer than the wheel's $most: build on Debian 12" >&2
    exit 78
  fi
done
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
python3 -B "$root/deploy/sbom.py" "$build" "$work/tree/bin/mlc-tune" "$version" "$created" "$work/bill.json"
python3 -B "$root/python/backend/mlc_wheel.py" "$work/tree" "$work/bill.json" "$dist"
