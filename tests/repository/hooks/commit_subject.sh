#!/usr/bin/env bash
# Fails if a commit message has no subject of 1 to 72 characters, or no empty line after it.
#   commit_subject.sh FILE        the file that git passes to the commit-msg hook
set -euo pipefail
export LC_ALL=C.UTF-8
limit=72
# What git leaves out of the message: comments, and everything below the scissors line.
message=$(sed -e '/^# -* >8 -*$/,$d' -e '/^#/d' "$1")
subject=${message%%$'\n'*}
if [[ ! $subject =~ [^[:space:]] ]]; then
  echo "the message has no subject: write what the change does, in the imperative" >&2
  exit 1
fi
if [[ $subject =~ ^(fixup|squash|amend)!\  ]]; then exit 0; fi
if ((${#subject} > limit)); then
  echo "the subject has ${#subject} characters; the limit is $limit. Put reasons into the body." >&2
  exit 1
fi
second=$(sed -n 2p <<<"$message")
if [[ $second =~ [^[:space:]] ]]; then
  echo "the second line is to be empty; the body begins at the third" >&2
  exit 1
fi
