#!/usr/bin/env bash
# Packs the bundle, unpacks it into an empty root that has the C library alone, and tunes, compiles and runs a
# small model there.
#   bundle_test.sh BUILD_DIR SOURCE_DIR VERSION
set -euo pipefail
build=$1 source=$2 version=$3
limit=$((48 * 1024 * 1024))
source "$(dirname "${BASH_SOURCE[0]}")/../preamble.sh"
((EUID == 0)) || skip "changing the root needs root"
unshare --mount --pid --fork true 2>/dev/null || skip "this system lets nobody make a mount or process name space"

"$source/deploy/bundle.sh" "$build" "$work" "$version"
archive=$(echo "$work"/mlc-*.tar.xz)
size=$(stat -c %s "$archive")
((size <= limit)) || fail "the archive has $size bytes, more than $limit"

# An empty root: the C library and the folders that every system has.
root=$work/root
mkdir -p "$root"/{opt,tmp,dev,proc,etc,lib64}
for object in ld-linux-x86-64.so.2 libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libresolv.so.2; do
  path=$(ldconfig -p | awk -v name="$object" '$1 == name && /x86-64/ && !found++ {print $NF}')
  [[ -n $path ]] || continue
  mkdir -p "$root$(dirname "$path")"
  cp -L "$path" "$root$path"
done
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
tar -xJf "$archive" -C "$root/opt"
home=/opt/$(basename "$archive" .tar.xz)
/usr/bin/python3 "$source/tests/models/make_model.py" resnet18 --reduced "$root/tmp/tiny.onnx" --inputs "$root/tmp/inputs"

# Runs a command inside, with a processor table and a null device of its own.
inside() {
  unshare --mount --pid --fork bash -c '
    root=$1; shift
    mount -t proc proc "$root/proc"
    for device in null zero urandom; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
    exec env -i TMPDIR=/tmp "$(command -v chroot)" "$root" "$@"' bash "$root" "$@"
}
for program in mlc-tune mlc-compile mlc-run mlc-log mlc-server mlc-worker; do
  inside "$home/bin/$program" --help >"$work/help.txt" || fail "$program --help does not run"
  grep -q -- --help "$work/help.txt" || fail "$program --help says nothing"
done
inside "$home/bin/mlc-tune" --model /tmp/tiny.onnx --target cpu --trials 30 --log /tmp/tuning.db
inside "$home/bin/mlc-compile" --model /tmp/tiny.onnx --target cpu --log /tmp/tuning.db --require-tuned -o /tmp/library
inside "$home/bin/mlc-run" --reference /tmp/tiny.onnx --inputs /tmp/inputs --outputs /tmp/expected
inside "$home/bin/mlc-run" /tmp/library --inputs /tmp/inputs --check /tmp/expected
inside "$home/bin/mlc-log" verify /tmp/tuning.db
echo "bundle of $size bytes works in an empty root"
