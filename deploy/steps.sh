# Sourced by the project's scripts: says what is being done and how long it took.

# step TITLE COMMAND...: runs the command, then prints its wall-clock time; a failure ends the script.
step() {
  local title=$1 started=$SECONDS
  shift
  printf '\n==> %s\n' "$title"
  "$@" || { local code=$?; printf '==> %s: FAILED with exit code %d\n' "$title" "$code" >&2; exit "$code"; }
  printf '==> %s: done in %d s\n' "$title" $((SECONDS - started))
}
