#!/usr/bin/env bash
# Fails if a file is larger than 256 KiB: history keeps every version of it.
#   large_files.sh FILE...
set -euo pipefail
limit=$((256 * 1024))
code=0
for file in "$@"; do
  bytes=$(stat -c %s "$file")
  if ((bytes > limit)); then
    echo "$file has $bytes bytes; the limit is $limit. Generate it, or fetch it in setup.sh." >&2
    code=1
  fi
done
exit "$code"
