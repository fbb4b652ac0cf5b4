#!/usr/bin/env bash
# Installs what the project needs on Debian 12 and builds it: the one set-up of quickstart.sh and tests/run.sh.
#   deploy/setup.sh [PRESET[:TARGET,...]]...     presets of CMakePresets.json, with what to build of each; default: all of release
# Safe to run again: packages that are there stay, and only what changed is rebuilt.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/deploy/steps.sh"

packages=(
  ccache cmake g++ git lld ninja-build pkg-config
  llvm-19-dev libpolly-19-dev liblld-19-dev lld-19 libzstd-dev zlib1g-dev
  libxgboost-dev libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  libsqlite3-dev libspdlog-dev libcli11-dev nlohmann-json3-dev libxxhash-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  clang-format clang-tidy python3 python3-numpy python3-onnx
)

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    echo "all ${#packages[@]} packages are installed"
    return
  fi
  local sudo=()
  if ((EUID != 0)); then sudo=(sudo); fi
  echo "installing: ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# build PRESET TARGETS
build() {
  local targets
  IFS=, read -ra targets <<<"$2"
  cmake --preset "$1" -S "$root" >"$root/build/$1.configure.log" 2>&1 || {
    cat "$root/build/$1.configure.log" >&2
    return 1
  }
  ninja -C "$root/build/$1" "${targets[@]}"
}

cd "$root"
mkdir -p build
step "Install packages" install_packages
for wanted in "${@:-release}"; do
  preset=${wanted%%:*} targets=
  if [[ $wanted == *:* ]]; then targets=${wanted#*:}; fi
  step "Build ($preset)" build "$preset" "$targets"
done
