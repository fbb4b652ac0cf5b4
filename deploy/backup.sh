#!/usr/bin/env bash
# Backs a tuning log up, and brings one back.
#   deploy/backup.sh LOG FOLDER            a checked copy of LOG, live or not, as a new file in FOLDER; keeps 14 and one a day for 60 days
#   deploy/backup.sh restore COPY LOG      LOG becomes COPY; a LOG that is there is moved to LOG.before-restore. Stop the server first.
# A copy is complete or absent: it is written beside, verified record by record, and renamed. mlc-log must be on PATH.
set -euo pipefail

fail() {
  echo "backup.sh: $1" >&2
  exit "${2:-1}"
}
command -v mlc-log >/dev/null || fail "mlc-log is not on PATH" 2

restore() {
  local copy=$1 log=$2
  [[ -f $copy ]] || fail "there is no copy $copy" 2
  mlc-log verify "$copy" || fail "$copy is damaged: take an older one" 74
  mkdir -p "$(dirname "$log")"
  # The lock of a running server: only somebody who may write the log can hold it.
  exec 9>>"$log.lock"
  flock -n 9 || fail "a server uses $log: stop it first" 75
  local new=$log.restoring
  cp --reflink=auto "$copy" "$new"
  chmod u+w "$new"
  sync "$new"
  if [[ -e $log ]]; then
    # The write-ahead log belongs to the old file, and would be played into the new one.
    for part in "" -wal -shm; do
      if [[ -e $log$part ]]; then mv "$log$part" "$log.before-restore$part"; fi
    done
  fi
  mv "$new" "$log"
  sync "$(dirname "$log")"
  echo "restored $log from $copy"
}

case ${1:-} in
restore)
  (($# == 3)) || fail "usage: backup.sh restore COPY LOG" 2
  restore "$2" "$3"
  ;;
"" | -*) fail "usage: backup.sh LOG FOLDER | backup.sh restore COPY LOG" 2 ;;
*)
  (($# == 2)) || fail "usage: backup.sh LOG FOLDER" 2
  mlc-log snapshot "$1" --into "$2" --keep 14 --days 60
  ;;
esac
