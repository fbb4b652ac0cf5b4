# Sourced by the tests in shell: a folder $work that goes away, a server $server that is killed with it, and checks.
work=$(mktemp -d)
server=
finish() {
  if [[ -n $server ]]; then kill -KILL "$server" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT

fail() {
  echo "FAILED: $1" >&2
  exit 1
}
skip() {
  echo "SKIPPED: $1"
  exit 77
}
# expect CODE COMMAND...: what it says goes to $work/said
expect() {
  local wanted=$1 code=0
  shift
  "$@" >"$work/said" 2>&1 || code=$?
  [[ $code == "$wanted" ]] || fail "'$*' ended with $code instead of $wanted: $(cat "$work/said")"
}
