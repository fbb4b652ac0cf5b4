#!/bin/sh
# Compiles every model of a folder for a target, in every precision, and checks its outputs against a
# reference in double precision:
#   tests/gpu/check_models.sh BIN MODELS [TARGET [LOG]]
# BIN: folder of mlc-compile and mlc-run. MODELS: NAME.onnx with input_K.pb in NAME_in beside it.
# TARGET: cuda if not given. LOG: kernels are taken from this tuning log. Ends with 1 if an error is
# too large.
set -u
bin=$1; models=$2; target=${3:-cuda}; log=${4:-}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
failed=0
for model in "$models"/*.onnx; do
  name=$(basename "$model" .onnx)
  inputs=$models/${name}_in
  [ -d "$inputs" ] || continue
  "$bin/mlc-run" --reference "$model" --inputs "$inputs" --outputs "$work/expected" > "$work/said" || {
    cat "$work/said"; failed=1; continue; }
  for bound in fp32:1e-5 tf32:5e-3 fp16:2e-2 bf16:6e-2; do
    precision=${bound%:*}
    if "$bin/mlc-compile" --model "$model" --target "$target" --precision "$precision" \
        ${log:+--log "$log"} -o "$work/net" > "$work/said" 2>&1 &&
      "$bin/mlc-run" "$work/net" --inputs "$inputs" --check "$work/expected" --rtol "${bound#*:}" --bench 0.5 \
        > "$work/said" 2>&1; then
      echo "ok     $name $precision: $(grep -o 'difference [^,]*' "$work/said" | sort | tail -1), $(grep -o 'latency [0-9.]* ms' "$work/said")"
    else
      echo "FAILED $name $precision: $(tail -3 "$work/said")"
      failed=1
    fi
    rm -rf "$work/net"
  done
  rm -rf "$work/expected"
done
exit $failed
