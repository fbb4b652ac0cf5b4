#!/usr/bin/env bash
# A whole lab on one machine: a server, three workers, two people and a build machine, each in a network namespace of
# its own, with TLS between them. Two models are tuned at once, a worker is killed and another one is cut off meanwhile,
# and a build machine asks for the result. Prints what happened; takes some minutes.
#   deploy/lab-demo.sh [--bin FOLDER] [--trials N] [--keep FOLDER]
#     --bin     where the programs are; default: build/release/bin
#     --trials  of each of the two models; default: 80
#     --keep    leave logs, certificates and libraries there; default: a temporary folder, removed at the end
# Needs root, python3 with numpy and onnx, openssl, and ip (iproute2). Exit code 77: this system cannot make namespaces.
set -euo pipefail
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$source_folder/deploy/steps.sh"
bin=$source_folder/build/release/bin trials=80 keep=
while (($# > 0)); do
  case $1 in
  --bin) bin=$(realpath "$2") ;;
  --trials) trials=$2 ;;
  --keep) keep=$2 ;;
  -h | --help)
    sed -n '2,10p' "${BASH_SOURCE[0]}" | sed 's/^# \?//'
    exit 0
    ;;
  *)
    echo "lab-demo.sh: unknown argument '$1'; see --help" >&2
    exit 2
    ;;
  esac
  shift 2
done

lab=mlclab$$
hosts=(server worker1 worker2 worker3 alice bob build)
declare -A address=([server]=10.77.0.1 [worker1]=10.77.0.11 [worker2]=10.77.0.12 [worker3]=10.77.0.13
  [alice]=10.77.0.21 [bob]=10.77.0.22 [build]=10.77.0.31)
tuner=tuner.lab:7443

can_make_namespaces() {
  ((EUID == 0)) && command -v ip >/dev/null && ip netns add "$lab-try" 2>/dev/null || return 1
  ip netns exec "$lab-try" ip link add try0 type veth peer name try1 2>/dev/null
  local made=$?
  ip netns del "$lab-try"
  return $made
}
can_make_namespaces || {
  echo "skipped: this system lets nobody make network namespaces (root and iproute2 are needed)"
  exit 77
}
command -v openssl >/dev/null || {
  echo "skipped: openssl is not installed"
  exit 77
}

work=${keep:-$(mktemp -d)}
mkdir -p "$work"
work=$(realpath "$work")
tidy_up() {
  local code=$? host
  for host in "${hosts[@]}"; do
    ip netns pids "$lab-$host" 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns del "$lab-$host" 2>/dev/null || true
    rm -rf "/etc/netns/$lab-$host"
  done
  ip netns del "$lab-switch" 2>/dev/null || true
  rmdir /etc/netns 2>/dev/null || true
  if [[ -z $keep ]]; then rm -rf "$work"; fi
  exit "$code"
}
trap tidy_up EXIT
trap 'exit 130' INT TERM

fail() {
  echo "lab-demo.sh: $1" >&2
  exit 1
}
# on HOST COMMAND...: runs it there
on() {
  local host=$1
  shift
  ip netns exec "$lab-$host" "$@"
}
# wait_for SECONDS WHAT COMMAND...
wait_for() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || fail "$what did not happen in time"
    read -rt 0.2 <> <(:) || true
  done
}

# A switch, and a cable from each host to it.
make_network() {
  local host
  ip netns add "$lab-switch"
  ip -n "$lab-switch" link add lab0 type bridge
  ip -n "$lab-switch" link set lab0 up
  for host in "${hosts[@]}"; do
    ip netns add "$lab-$host"
    ip -n "$lab-$host" link add eth0 type veth peer name "$host" netns "$lab-switch"
    ip -n "$lab-$host" addr add "${address[$host]}/24" dev eth0
    ip -n "$lab-$host" link set eth0 up
    ip -n "$lab-$host" link set lo up
    ip -n "$lab-switch" link set "$host" master lab0 up
    # `ip netns exec` shows this as /etc/hosts.
    mkdir -p "/etc/netns/$lab-$host"
    printf '127.0.0.1 localhost\n%s tuner.lab\n' "${address[server]}" >"/etc/netns/$lab-$host/hosts"
  done
}

make_certificates() {
  local make=$source_folder/deploy/certificates.sh certs=$work/certs name
  "$make" "$certs" ca
  "$make" "$certs" server tuner.lab
  for name in worker1 worker2 worker3; do "$make" "$certs" work "$name"; done
  for name in alice bob; do "$make" "$certs" submit "$name"; done
  "$make" "$certs" admin carol
  "$make" "$certs" token read build
}

make_models() {
  /usr/bin/python3 "$source_folder/tests/models/make_model.py" resnet18 --reduced "$work/alice.onnx" --inputs "$work/inputs"
  /usr/bin/python3 "$source_folder/tests/models/make_model.py" bert_base --reduced "$work/bob.onnx"
}

start_server() {
  on server "$bin/mlc-server" --log "$work/tuning.db" --listen 0.0.0.0:7443 --tls-cert "$work/certs/server.pem" \
    --tls-key "$work/certs/server.key" --tls-ca "$work/certs/ca.pem" --tokens "$work/certs/tokens" --metrics 127.0.0.1:9464 \
    --log-format json --snapshots "$work/snapshots" --snapshot-minutes 1 --lease-ms 5000 \
    >"$work/server.out" 2>>"$work/server.log" &
  wait_for 120 "the server's start" grep -q listening "$work/server.out"
}

# One file is locked by whoever times: three machines have three processors, these share two.
start_worker() {
  mkdir -p "$work/$1"
  on "$1" "$bin/mlc-worker" --server "$tuner" --name "$1" --state "$work/$1" --threads 1 --builders 1 --gate "$work/gate" \
    "${tls[@]}" --tls-cert "$work/certs/work-$1.pem" --tls-key "$work/certs/work-$1.key" 2>>"$work/$1.log" &
  pids[$1]=$!
}

as() { tls_of=("${tls[@]}" --tls-cert "$work/certs/$2-$1.pem" --tls-key "$work/certs/$2-$1.key"); }
tune() {
  local who=$1
  as "$who" submit
  on "$who" "$bin/mlc-tune" --server "$tuner" --model "$work/$who.onnx" --trials "$trials" --threads 1 --json "${tls_of[@]}" \
    >"$work/$who.json" 2>"$work/$who.log"
}
list() {
  as carol admin
  on alice "$bin/mlc-tune" "$1" --server "$tuner" "${tls_of[@]}"
}
metric() { on server /usr/bin/python3 -c 'import sys, urllib.request
text = urllib.request.urlopen("http://127.0.0.1:9464/metrics").read().decode()
print(*[line for line in text.splitlines() if line.startswith(tuple(sys.argv[1:]))], sep="\n")' "$@"; }
results() { metric mlc_server_results_total | awk '{sum += $2} END {print int(sum)}'; }
has_results() { (($(results) >= $1)); }

tune_both() {
  tune alice &
  local alice=$!
  tune bob &
  local bob=$!
  wait_for 600 "the first trials" has_results 20
  echo "worker1 is killed (SIGKILL); worker2 is cut off for five seconds"
  ip netns pids "$lab-worker1" | xargs -r kill -KILL
  ip -n "$lab-switch" link set worker2 down
  read -rt 5 <> <(:) || true
  ip -n "$lab-switch" link set worker2 up
  start_worker worker1
  wait "$alice" || fail "alice: $(tail -n 3 "$work/alice.log")"
  wait "$bob" || fail "bob: $(tail -n 3 "$work/bob.log")"
}

# The same lock file from the server and from a snapshot gives the same bytes.
ask_as_a_build() {
  local compile=("$bin/mlc-compile" --model "$work/alice.onnx" --threads 1 --require-tuned --name model)
  on build "${compile[@]}" --server "$tuner" "${tls[@]}" --token-file "$work/certs/read-build.token" -o "$work/from_server" >/dev/null
  "$bin/mlc-log" snapshot "$work/tuning.db" --into "$work/snapshots"
  on build "${compile[@]}" --log "$work/snapshots/latest.db" -o "$work/from_snapshot" >/dev/null
  cmp "$work/from_server/model.lock" "$work/from_snapshot/model.lock"
  cmp "$work/from_server/libmodel.so" "$work/from_snapshot/libmodel.so"
  echo "server and snapshot gave the same $(stat -c %s "$work/from_server/libmodel.so") bytes"
  "$bin/mlc-run" --reference "$work/alice.onnx" --inputs "$work/inputs" --outputs "$work/expected"
  "$bin/mlc-run" "$work/from_server" --inputs "$work/inputs" --check "$work/expected"
}

refuse_an_unauthorized_call() {
  if on build "$bin/mlc-tune" --server "$tuner" --model "$work/alice.onnx" --trials 8 --threads 1 "${tls[@]}" \
    --token-file "$work/certs/read-build.token" >/dev/null 2>"$work/refused"; then
    fail "a build machine's token could submit a job"
  fi
  tail -n 1 "$work/refused"
}

report() {
  list workers
  list jobs
  metric mlc_server_results_total mlc_server_leases_expired_total mlc_server_results_duplicate_total mlc_server_rejected_total
  "$bin/mlc-log" verify "$work/tuning.db"
}

tls=(--tls-ca "$work/certs/ca.pem")
declare -A pids=()
step "Seven hosts and a switch" make_network
step "Certificates and tokens" make_certificates
step "Two models" make_models
step "The server" start_server
step "Three workers" eval 'for host in worker1 worker2 worker3; do start_worker "$host"; done'
step "Two people tune at once, with trouble on the way" tune_both
step "A build machine asks" ask_as_a_build
step "Its token may do no more" refuse_an_unauthorized_call
step "What happened" report
