#!/usr/bin/env bash
# Backs a tuning log up, and brings one back.
#   deploy/backup.sh LOG FOLDER            a checked copy of LOG, live or not, as a new file in FOLDER; keeps 14 and one a day for 60 days
#   deploy/backup.sh restore COPY LOG      LOG becomes COPY; a LOG that is there is moved to LOG.before-restore. Stop the server first.
# A copy is complete or absent: it is written beside, verified record by record, and renamed. mlc-log must be on PATH.
# Run by root, restore gives the log to the user of the one that was there, or else of its folder: the server's.
set -euo pipefail

fail() {
  echo "backup.sh: $1" >&2
  exit "${2:-1}"
}
command -v mlc-log >/dev/null || fail "mlc-log is not on PATH" 2

# own FILE...: gives the files to the log's owner; only root may
own() {
  ((EUID != 0)) || chown "$owner" "$@"
}

# as_owner COMMAND...: runs it as the log's owner
as_owner() {
  if ((EUID == 0)) && [[ ${owner%:*} != 0 ]]; then
    setpriv --reuid="${owner%:*}" --regid="${owner#*:}" --clear-groups "$@"
  else
    "$@"
  fi
}

restore() {
  local copy=$1 log=$2 folder mode=640 part
  [[ -f $copy ]] || fail "there is no copy $copy" 2
  mlc-log verify "$copy" || fail "$copy is damaged: take an older one" 74
  folder=$(dirname "$log")
  [[ -d $folder ]] || fail "there is no folder $folder: make it, and give it to the server's user" 2
  if [[ -e $log ]]; then
    owner=$(stat -c %u:%g "$log")
    mode=$(stat -c %a "$log")
  fi
  # A log of root's in the folder of another user is an earlier restore that went wrong.
  if [[ -z ${owner:-} || ${owner%:*} == 0 ]]; then owner=$(stat -c %u:%g "$folder"); fi
  as_owner test -w "$folder" -a -x "$folder" ||
    fail "user ${owner%:*}, whose $log is to be, cannot write into $folder: chown ${owner%:*} $folder" 77
  # The lock of a running server: only somebody who may write the log can hold it.
  exec 9>>"$log.lock"
  flock -n 9 || fail "a server uses $log: stop it first" 75
  own "$log.lock"
  local new=$log.restoring
  rm -f "$new"
  cp --reflink=auto "$copy" "$new"
  own "$new"
  chmod "$mode" "$new"
  chmod u+rw "$new"
  sync "$new"
  if [[ -e $log ]]; then
    # The write-ahead log belongs to the old file, and would be played into the new one.
    for part in "" -wal -shm; do
      if [[ -e $log$part ]]; then mv "$log$part" "$log.before-restore$part"; fi
    done
  fi
  mv "$new" "$log"
  sync "$folder"
  for part in "" .lock; do
    as_owner test -r "$log$part" -a -w "$log$part" || fail "user ${owner%:*} cannot write $log$part: chown it to the user of the server" 77
  done
  echo "restored $log from $copy, for user ${owner%:*}"
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
