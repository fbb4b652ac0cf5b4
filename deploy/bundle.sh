#!/usr/bin/env bash
# Packs the programs of a build with the libraries they need into one relocatable archive.
#   deploy/bundle.sh BUILD_DIR DIST_DIR VERSION
#   deploy/bundle.sh --tree BUILD_DIR FOLDER VERSION     what the archive holds, as files of a new folder
# The archive runs wherever glibc 2.36 or newer is: unpack it, run bin/mlc-*. The C library, the GPU driver and
# the CUDA toolkit stay outside. Programs find lib/ beside them through their run path.
set -euo pipefail
tree=
if [[ ${1:-} == --tree ]]; then tree=yes && shift; fi
build=$1 dist=$2 version=$3
name=mlc-$version-linux-$(uname -m)
programs=(mlc-tune mlc-compile mlc-run mlc-log mlc-server mlc-worker)
# Parts of the C library: they must be the machine's own.
system='^(linux-vdso|ld-linux.*|libc|libm|libpthread|libdl|librt|libresolv|libutil)\.so'

if [[ $tree ]]; then
  root=$dist
else
  mkdir -p "$dist"
  stage=$(mktemp -d "$dist/stage.XXXXXX")
  trap 'rm -rf "$stage"' EXIT
  root=$stage/$name
fi
mkdir -p "$root/bin" "$root/lib" "$root/lib/cmake/mlc"

for program in "${programs[@]}"; do
  strip -o "$root/bin/$program" "$build/bin/$program"
done
ldd "${programs[@]/#/$build/bin/}" | awk '$2 == "=>" {print $1, $3}' | sort -u | while read -r soname path; do
  [[ $soname =~ $system ]] && continue
  if [[ $path != /* ]]; then
    echo "library $soname of the bundle is not installed" >&2
    exit 1
  fi
  strip --strip-unneeded -o "$root/lib/$soname" "$path"
done
cp "$build/installed/mlcConfig.cmake" "$build/mlcConfigVersion.cmake" "$build/MlcAddModel.cmake" "$root/lib/cmake/mlc/"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cp "$here/LICENSE" "$here/README.md" "$root/"
mkdir "$root/share"
cp -r "$here/docs" "$here/deploy" "$root/share/"
for folder in man bash-completion zsh fish; do
  if [[ -d $build/share/$folder ]]; then cp -r "$build/share/$folder" "$root/share/"; fi
done
if [[ $tree ]]; then exit; fi

# The same files give the same bytes. One window over everything finds what the programs share.
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$stage" -cf "$stage/$name.tar" "$name"
xz -T1 --lzma2=preset=6,dict=192MiB "$stage/$name.tar"
chmod 644 "$stage/$name.tar.xz"
mv "$stage/$name.tar.xz" "$dist/$name.tar.xz"
printf '%s: %d bytes\n' "$dist/$name.tar.xz" "$(stat -c %s "$dist/$name.tar.xz")"
