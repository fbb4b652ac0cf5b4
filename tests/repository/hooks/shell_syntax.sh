#!/usr/bin/env bash
# Fails if a script does not parse.   shell_syntax.sh FILE...
set -euo pipefail
code=0
for file in "$@"; do
  shell=bash
  if [[ $(head -n 1 "$file") == '#!/bin/sh' ]]; then shell=sh; fi
  "$shell" -n "$file" || code=1
done
exit "$code"
