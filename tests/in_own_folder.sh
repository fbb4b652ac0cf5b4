#!/bin/sh
# Runs a test in a temporary folder of its own, which goes when it ends: tests of two checkouts do not
# meet, and nothing stays behind.  in_own_folder.sh PROGRAM ARGUMENTS...
folder=$(mktemp -d "${TMPDIR:-/tmp}/mlc.XXXXXX") || exit 1
trap 'chmod -R u+w "$folder" 2>/dev/null; rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
TMPDIR=$folder TEST_TMPDIR=$folder XDG_CONFIG_HOME=$folder MLC_GPU_LOCKS=$folder "$@"
