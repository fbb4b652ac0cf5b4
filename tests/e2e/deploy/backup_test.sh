#!/usr/bin/env bash
# Backs a log up while a server writes it, damages it, and brings it back.
#   backup_test.sh BUILD_FOLDER SOURCE_FOLDER
set -euo pipefail
build=$1 source=$2
PATH=$build/bin:$PATH
backup=$source/deploy/backup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../preamble.sh"
records() { mlc-log stats "$1" --json | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["records"])'; }

log=$work/lab/tuning.db
mkdir "$work/lab"
"$build/tests/write_log" "$log" 2 "$build/tests/e2e/models/reduced/bert_base.onnx"
count=$(records "$log")
((count > 0)) || fail "the log is empty"

# A server holds the log open.
mlc-server --log "$log" --listen "unix:$work/socket" >"$work/listening" 2>"$work/server.log" &
server=$!
until grep -q listening "$work/listening"; do kill -0 "$server" || fail "$(cat "$work/server.log")"; done

expect 0 "$backup" "$log" "$work/backups"
copy=$(readlink -f "$work/backups/latest.db")
[[ $(records "$copy") == "$count" ]] || fail "the copy has other records"
expect 75 "$backup" restore "$copy" "$log"
grep -q 'stop it first' "$work/said" || fail "no word of the running server"
kill -TERM "$server"
wait "$server" || fail "the server ended with $?"
server=

# A damaged log, then the copy in its place.
printf 'nonsense' | dd of="$log" conv=notrunc status=none
if mlc-log verify "$log" >/dev/null 2>&1; then fail "the damage is not seen"; fi
expect 0 "$backup" restore "$copy" "$log"
[[ $(records "$log") == "$count" ]] || fail "the restored log has other records"
[[ -e $log.before-restore ]] || fail "the old log is gone"
expect 0 mlc-log verify "$log"

# A server can write what was restored.
mlc-server --log "$log" --listen "unix:$work/socket2" >"$work/listening2" 2>"$work/server.log" &
server=$!
until grep -q listening "$work/listening2"; do kill -0 "$server" || fail "$(cat "$work/server.log")"; done
kill -TERM "$server"
wait "$server" || fail "the server ended with $?"
server=

# root restores the log of another user, who can then write it; and one that an earlier restore made root's.
as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if ((EUID == 0)) && "${as_user[@]}" test -x "$build/bin/mlc-server"; then
  # Where that user gets to.
  users=$(mktemp -d /tmp/mlc-users.XXXXXX)
  trap 'finish; rm -rf "$users"' EXIT
  chown 65534:65534 "$users"
  theirs=$users/tuning.db
  try_start() {
    rm -f "$users/listening"
    "${as_user[@]}" "$build/bin/mlc-server" --log "$theirs" --listen "unix:$users/socket" >"$users/listening" 2>"$work/server.log" &
    server=$!
    until grep -qs listening "$users/listening"; do kill -0 "$server" 2>/dev/null || break; done
  }
  stop() {
    kill -TERM "$server"
    wait "$server" || fail "the server ended with $?: $(cat "$work/server.log")"
    server=
  }
  for owner in 65534 65534 0; do
    if [[ -e $theirs ]]; then chown "$owner" "$theirs" "$theirs.lock"; fi
    if ((owner == 0)); then
      code=0
      try_start
      wait "$server" || code=$?
      server=
      [[ $code == 77 ]] || fail "a log of root's ended the server with $code"
      grep -q 'belongs to user 0 .* runs as user 65534: chown it' "$work/server.log" || fail "no word of what to do: $(cat "$work/server.log")"
    fi
    expect 0 "$backup" restore "$copy" "$theirs"
    [[ $(stat -c %u:%g "$theirs") == 65534:65534 && $(stat -c %u "$theirs.lock") == 65534 ]] || fail "the restored log is not its user's: $(ls -ln "$users")"
    try_start
    stop
  done
  # A folder that its user cannot use: said before anything changes.
  chown 0 "$users"
  expect 77 "$backup" restore "$copy" "$theirs"
  grep -q "cannot write into $users" "$work/said" || fail "no word of the folder: $(cat "$work/said")"
  [[ $(records "$theirs") == "$count" && $(stat -c %u "$theirs") == 65534 ]] || fail "a refused restore changed the log"
fi
expect 2 "$backup" restore "$copy" "$work/nowhere/tuning.db"

# A damaged copy is refused, and nothing changes.
cp "$copy" "$work/bad.db"
chmod u+w "$work/bad.db"
printf 'nonsense' | dd of="$work/bad.db" conv=notrunc status=none
expect 74 "$backup" restore "$work/bad.db" "$log"
[[ $(records "$log") == "$count" ]] || fail "a refused copy changed the log"
expect 2 "$backup"
expect 2 "$backup" restore "$copy"
echo "backup and restore work"
