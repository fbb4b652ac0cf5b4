#!/usr/bin/env bash
# Installs what the project needs on Debian 12 or 13 or Ubuntu 24.04, and builds it: the one set-up of quickstart.sh and
# tests/run.sh.
#   deploy/setup.sh [PRESET[:TARGET,...]]...     presets of CMakePresets.json, with what to build of each; default: all of release
#   deploy/setup.sh --programs                   the programs of the preset release alone, with the packages that these need
#   deploy/setup.sh --packages-only              installs the Debian packages and ends, for images of build machines
#   deploy/setup.sh --browser                    installs Chromium (400 MB) for the test of the server's page, which is else skipped
# Safe to run again: packages that are there stay, and only what changed is rebuilt.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/deploy/steps.sh"

# Of the programs.
packages=(
  ccache cmake g++ git lld ninja-build pkg-config
  llvm-19-dev libpolly-19-dev liblld-19-dev lld-19 libzstd-dev zlib1g-dev
  libxgboost-dev libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  libsqlite3-dev libspdlog-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev
  libssl-dev openssl prometheus-cpp-dev libcpp-httplib-dev
  python3 python3-numpy python3-onnx python3-pip libdeflate0
)
test_packages=(
  libgtest-dev libgmock-dev libbenchmark-dev
  qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross
  clang-format
  python3-grpcio libfaketime iproute2 iptables
  slurm-wlm slurm-wlm-basic-plugins munge
)
browser_packages=(chromium chromium-driver python3-selenium)

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
  # Tests start Slurm and munge themselves: installing them is to start no service of this machine.
  local policy=/usr/sbin/policy-rc.d ours='' code=0
  if [[ ! -e $policy ]]; then
    ours=yes
    printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee "$policy" >/dev/null
    "${sudo[@]}" chmod 755 "$policy"
  fi
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || code=$?
  if [[ $ours ]]; then "${sudo[@]}" rm -f "$policy"; fi
  return "$code"
}

# The CUDA compiler and headers as Python wheels, for machines without a toolkit: tests then compile
# the generated CUDA C++. Everything else works without them.
fetch_cuda() {
  local place wheels="$root/build/cuda/wheels" target="$root/build/cuda"
  for place in /usr/local/cuda*/lib64 /usr/local/cuda*/lib "$target/nvidia/cu13/lib"; do
    if compgen -G "$place/libnvrtc.so.1[23]" >/dev/null; then
      echo "CUDA compiler: $place"
      return
    fi
  done
  if ldconfig -p 2>/dev/null | grep 'libnvrtc\.so\.1[23]' >/dev/null; then
    echo "CUDA compiler: the loader finds libnvrtc"
    return
  fi
  mkdir -p "$wheels"
  local package wheel
  for package in nvidia-cuda-nvrtc nvidia-cuda-cupti nvidia-cuda-runtime; do
    python3 -m pip download -q --no-deps --only-binary=:all: -d "$wheels" "$package==13.0.*" ||
      echo "warning: cannot fetch $package; tests that need it will be skipped" >&2
  done
  for wheel in "$wheels"/*.whl; do
    python3 -m zipfile -e "$wheel" "$target" || echo "warning: cannot unpack $wheel" >&2
  done
  if ! compgen -G "$target/nvidia/cu13/lib/libnvrtc.so.1[23]" >/dev/null; then
    echo "no CUDA compiler: the tests that compile CUDA C++ will be skipped"
    return
  fi
  rm -rf "$wheels"
  echo "CUDA compiler: $target/nvidia/cu13/lib"
}

# fetch_python FOLDER REQUIREMENT: a Python package beside the build, unless its folder is there. Tests that miss it are skipped.
fetch_python() {
  local target=$root/build/python
  if [[ ! -d $target/$1 ]]; then
    /usr/bin/python3 -m pip install -q --no-warn-script-location --root-user-action=ignore --only-binary=:all: --target "$target" "$2" || {
      echo "warning: cannot fetch $2; the test that needs it will be skipped" >&2
      return
    }
  fi
  echo "$2: $target/$1"
}

# What tests need and Debian does not package: the schemas of Kubernetes, for deploy/kubernetes, and a clang-tidy that leaves
# system headers alone.
fetch_test_tools() {
  fetch_python kubernetes_validate 'kubernetes-validate==1.37.*'
  fetch_python clang_tidy 'clang-tidy==23.1.4'
}

# build PRESET TARGETS [CMAKE OPTIONS]...
# A new tree gets grouped sources, which are the fastest to build from nothing; one that is there stays as it is. The
# fuzz targets compile each source alone, and so find includes that are missing.
build() {
  local targets options=("${@:3}")
  IFS=, read -ra targets <<<"$2"
  if [[ $1 != fuzz && ! -e $root/build/$1/CMakeCache.txt ]]; then options+=(-DMLC_UNITY=ON); fi
  cmake --preset "$1" -S "$root" "${options[@]}" >"$root/build/$1.configure.log" 2>&1 || {
    cat "$root/build/$1.configure.log" >&2
    return 1
  }
  ninja -C "$root/build/$1" "${targets[@]}"
}

cd "$root"
mkdir -p build
if [[ ${1:-} == --programs ]]; then
  step "Install packages" install_packages
  # Where there is no GPU, only tests need the compiler.
  if [[ -e /dev/nvidiactl ]]; then step "Find a CUDA compiler" fetch_cuda; fi
  step "Build (programs)" build release programs -DMLC_BUILD_TESTS=OFF
  exit 0
fi
if [[ ${1:-} == --browser ]]; then
  packages=("${browser_packages[@]}")
  step "Install a browser" install_packages
  # It finds what keeps people from using a page.
  step "Find tools of the test" fetch_python axe_core_python 'axe-core-python==0.1.0'
  exit 0
fi
packages+=("${test_packages[@]}")
# One version for all, since others lay code out differently and know other checks; later releases do not have it.
case $(source /etc/os-release && echo "${VERSION_CODENAME:-}") in
  bookworm | noble) packages+=(clang-14 libclang-rt-14-dev clang-format-14) ;;
  *) echo "this release has no clang 14: formatting, thread safety and the fuzz targets are not checked" ;;
esac
if [[ ${1:-} == --packages-only ]]; then
  step "Install packages" install_packages
  exit 0
fi
step "Install packages" install_packages
step "Find a CUDA compiler" fetch_cuda
step "Find tools of the tests" fetch_test_tools
for wanted in "${@:-release}"; do
  preset=${wanted%%:*} targets=
  if [[ $wanted == *:* ]]; then targets=${wanted#*:}; fi
  step "Build ($preset)" build "$preset" "$targets" -DMLC_BUILD_TESTS=ON
done
