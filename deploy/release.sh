#!/usr/bin/env bash
# Makes a release of the commit that is checked out: a tag, and the files to upload with it.
#   deploy/release.sh VERSION [--dry-run]
#
# 1. Checks: nothing is uncommitted; VERSION is the project's in CMakeLists.txt; CHANGELOG.md has a
#    section of it with a date; there is no such tag.
# 2. Builds the bundle, and writes to dist/release-VERSION/
#      mlc-VERSION-linux-ARCH.tar.xz              the bundle, for machines that build nothing
#      mlc-VERSION-linux-ARCH.spdx.json           its software bill of materials, SPDX 2.3
#      mlc_tune-VERSION-py3-none-PLATFORM.whl     the Python package with the programs (wheel.sh)
#      mlc-tune-VERSION.tar.gz                    the sources
#      CHANGES.md                                 the section of CHANGELOG.md
#      SHA256SUMS                                 checksums of all of them
# 3. Tags the commit vVERSION, with the changes as its message. The tag is signed if git has a key
#    (user.signingkey).
# Nothing is pushed. With --dry-run it ends after the checks and says what would follow.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/deploy/steps.sh"
cd "$root"

version= dry=
for argument in "$@"; do
  case $argument in
    --dry-run) dry=yes ;;
    -*) echo "unknown argument '$argument': see the head of deploy/release.sh" >&2; exit 64 ;;
    *) version=$argument ;;
  esac
done
if [[ ! $version =~ ^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$ ]]; then
  echo "a version has three numbers, as in 1.2.0: '$version'" >&2
  exit 64
fi
tag=v$version
name=mlc-$version-linux-$(uname -m)
out=dist/release-$version

# The lines of the version's section in CHANGELOG.md, without its heading and the links at the end.
changes() {
  awk -v heading="## [$version]" '
    /^## \[/ { inside = index($0, heading) == 1; next }
    /^\[[^]]*\]: / { next }
    inside' CHANGELOG.md | sed -e '/./,$!d'
}

check() {
  local problems=()
  if [[ -n $(git status --porcelain) ]]; then
    problems+=("the tree has changes that are not committed: see git status")
  fi
  if ! grep -qF "project(mlc-tune VERSION $version " CMakeLists.txt; then
    problems+=("CMakeLists.txt has another version: $(grep -m 1 '^project(' CMakeLists.txt)")
  fi
  if ! grep -qE "^## \[${version//./\\.}\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md; then
    problems+=("CHANGELOG.md has no line '## [$version] - YYYY-MM-DD'")
  elif [[ -z $(changes) ]]; then
    problems+=("CHANGELOG.md says nothing about $version")
  fi
  if git rev-parse --quiet --verify "refs/tags/$tag" >/dev/null; then
    problems+=("there is a tag $tag already")
  fi
  if ((${#problems[@]} > 0)); then
    printf '%s\n' "${problems[@]}" >&2
    return 65
  fi
  echo "$version can be released from $(git rev-parse --short HEAD)"
}

# Steps run where a failing command ends nothing by itself: so each ends the step.
collect() {
  local created sources=mlc-tune-$version
  created=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd) || return
  rm -rf "$out" && mkdir -p "$out" && cp "dist/$name.tar.xz" "$out/" || return
  python3 deploy/sbom.py build/release "$out/$name.tar.xz" "$version" "$created" \
    "$out/$name.spdx.json" || return
  deploy/wheel.sh --build build/release "$out" || return
  git archive --prefix="$sources/" HEAD | gzip -9n >"$out/$sources.tar.gz" || return
  changes >"$out/CHANGES.md" || return
  (cd "$out" && sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS .) || return
  cat "$out/SHA256SUMS"
}

make_tag() {
  local kind=--annotate
  if [[ -n $(git config user.signingkey) ]]; then kind=--sign; fi
  # Headings begin with '#', which git would take for comments.
  { printf 'mlc-tune %s\n\n' "$version"; cat "$out/CHANGES.md"; } |
    git tag "$kind" --cleanup=verbatim --file=- "$tag" || return
  echo "$tag is $(git rev-parse --short "$tag^{commit}") ($kind)"
}

step "Check" check
if [[ $dry ]]; then
  echo
  echo "would build $name.tar.xz, write $out and make the tag $tag, with these changes:"
  changes
  exit 0
fi
step "Build the bundle" deploy/setup.sh release:bundle
step "Write $out" collect
step "Tag $tag" make_tag
cat <<TEXT

Next:
  git push origin $tag
  upload the files of $out to the release of $tag at the code host
  add an empty section to CHANGELOG.md and raise the version in CMakeLists.txt
TEXT
