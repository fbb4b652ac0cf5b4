#!/usr/bin/env bash
# mlc-compile and mlc-tune ask a server: the same choices, lock file and bytes as from a snapshot of its log; transferred configs
# said and switched off; the class of device from the server; clear errors.
#   ask_test.sh BUILD_FOLDER
set -euo pipefail
build=$1
PATH=$build/bin:$PATH
models=$build/tests/e2e/models/reduced
source "$(dirname "${BASH_SOURCE[0]}")/../preamble.sh"
[[ -e $models/bert_base.onnx ]] || skip "no models: a python with onnx and numpy writes them"
says() { grep -qF -- "$1" "$work/said" || fail "nothing of '$1' in: $(cat "$work/said")"; }
says_nothing_of() { if grep -qF -- "$1" "$work/said"; then fail "'$1' in: $(cat "$work/said")"; fi; }

start_server() {
  : >"$work/listening"
  mlc-server --log "$work/tuning.db" --listen "unix:$work/socket" >"$work/listening" 2>>"$work/server.log" &
  server=$!
  until grep -q listening "$work/listening"; do kill -0 "$server" || fail "$(cat "$work/server.log")"; done
}
stop_server() {
  kill -TERM "$server"
  wait "$server" || fail "the server ended with $?"
  server=
}
at=unix:$work/socket
# same NAME MODEL FLAGS...: both ways, the same lock file and bytes
same() {
  local name=$1 model=$2
  shift 2
  expect 0 mlc-compile --model "$models/$model.onnx" --server "$at" --name model "$@" -o "$work/$name-server"
  cp "$work/said" "$work/$name.words"
  expect 0 mlc-compile --model "$models/$model.onnx" --log "$work/snapshot.db" --name model "$@" -o "$work/$name-log"
  cmp "$work/$name-server/model.lock" "$work/$name-log/model.lock" || fail "$name: other lock file"
  cmp "$work/$name-server/libmodel.so" "$work/$name-log/libmodel.so" || fail "$name: other library"
  cmp "$work/$name-server/report.txt" "$work/$name-log/report.txt" || fail "$name: other report"
}

# resnet18 has records for two threads of this machine, resnet50 none: some of its tasks are alike.
"$build/tests/write_log" "$work/tuning.db" 2 --faster "$models/resnet18.onnx"
start_server
mlc-log snapshot "$work/tuning.db" "$work/snapshot.db" >/dev/null

same tuned resnet18 --threads 2 --require-tuned
says_nothing_of untuned
same near resnet50 --threads 2
says 'untuned: transferred, record'
same plain resnet50 --threads 2 --transfer=off
says 'untuned: default config'
says_nothing_of 'transferred'

expect 3 mlc-compile --model "$models/resnet50.onnx" --server "$at" --threads 2 --require-tuned -o "$work/none"
says '--require-tuned: the server has no usable record for'
says "--server $at"
expect 2 mlc-compile --model "$models/resnet18.onnx" --server "$at" --log "$work/snapshot.db" -o "$work/none"

# A build by CMake asks, too.
mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(asks LANGUAGES C)
find_package(mlc 1.0 CONFIG REQUIRED)
mlc_add_model(net $models/resnet18.onnx SERVER $at THREADS 2 NAME model REQUIRE_TUNED)
END
expect 0 cmake -G Ninja -S "$work/project" -B "$work/project/build" "-Dmlc_DIR=$build"
expect 0 cmake --build "$work/project/build" --target net_model_files
cmp "$work/project/build/net_model/model.lock" "$work/tuned-log/model.lock" || fail "CMake: other lock file"

# The class of the records, and any class by its text.
other='target v1 cpu arch=x86_64 isa=avx2 threads=96 l1=32768 l2=524288 l3=16777216'
expect 0 mlc-compile --model "$models/resnet18.onnx" --server "$at" --emit=tasks
own=$(sed -n 's/^--target cpu: the server.s .\(target .*\).$/\1/p' "$work/said")
if (($(nproc) != 2)); then
  [[ $own == *threads=2\ * ]] || fail "not the server's class: $(head -n 1 "$work/said")"
fi
expect 0 mlc-compile --model "$models/resnet18.onnx" --server "$at" --target "$other" --emit=tasks

# A worker of two threads is there: mlc-tune takes its class.
mlc-worker --server "$at" --name wanda --threads 2 --builders 1 2>"$work/worker.log" &
worker=$!
until mlc-tune workers --server "$at" --json | grep wanda >/dev/null; do kill -0 "$worker" || fail "$(cat "$work/worker.log")"; done
expect 0 mlc-tune workers --server "$at"
says wanda
expect 0 mlc-tune --server "$at" --model "$models/resnet18.onnx" --trials 100000 --detach --quiet
job=$(tail -n 1 "$work/said")
expect 0 mlc-tune jobs --server "$at" --json
/usr/bin/python3 - "$work/said" "$job" <<'END' || fail "the job is not of the worker's class: $(cat "$work/said")"
import json, sys
jobs = {job["job"]: job for job in json.load(open(sys.argv[1]))["jobs"]}
sys.exit(" threads=2 " not in jobs[sys.argv[2]]["target"])
END
expect 0 mlc-tune cancel "$job" --server "$at"
expect 3 mlc-tune quarantine nobody --server "$at"
expect 0 mlc-tune quarantine wanda --server "$at"
says "gets no trials until it is released"
expect 0 mlc-tune workers --server "$at"
says quarantined
expect 0 mlc-tune release wanda --server "$at"
expect 3 mlc-tune drain nobody --server "$at"
says nobody
expect 0 mlc-tune drain wanda --server "$at"
wait "$worker" || fail "the drained worker ended with $?: $(cat "$work/worker.log")"
expect 2 mlc-tune workers --server "$at" jobs
expect 2 mlc-tune workers
says "workers needs --server"
expect 2 mlc-tune --trials 5 workers --server "$at"
says "--trials does not go with workers"
expect 0 mlc-tune --server "$at" workers

stop_server
expect 69 mlc-compile --model "$models/resnet18.onnx" --server "$at" -o "$work/none"
expect 69 mlc-tune workers --server "$at"
echo "asking a server works"
