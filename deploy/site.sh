#!/usr/bin/env bash
# Builds the site of the documents into build/site.
#   deploy/site.sh            builds it; a broken link, anchor or navigation entry is an error
#   deploy/site.sh --serve    shows it at http://127.0.0.1:8000 and follows changes
# The first run installs MkDocs into build/site-env, which needs python3 with venv and network access.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
environment=$root/build/site-env requirements=$root/deploy/site/requirements.txt

case ${1:-} in
  '' | --serve) ;;
  *)
    sed -n '3,4p' "${BASH_SOURCE[0]}" | sed 's/^# *//' >&2
    exit 2
    ;;
esac
if ! cmp -s "$requirements" "$environment/requirements.txt"; then
  rm -rf "$environment"
  python3 -m venv "$environment"
  "$environment/bin/pip" install -q --only-binary=:all: --no-deps -r "$requirements"
  cp "$requirements" "$environment/"
fi
cd "$root"
export PYTHONDONTWRITEBYTECODE=1
if [[ ${1:-} == --serve ]]; then
  exec "$environment/bin/mkdocs" serve --strict
fi
"$environment/bin/mkdocs" build --strict
echo "build/site/index.html"
