#!/usr/bin/env bash
# Makes the wheel, installs it into an empty environment without a network, and tunes, compiles, loads and calls a model there.
#   wheel_test.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1 source=$2
limit=60000000
source "$(dirname "${BASH_SOURCE[0]}")/../preamble.sh"
python=/usr/bin/python3
$python -c 'import numpy, onnx, venv, ensurepip' 2>"$work/said" || skip "the test needs numpy, onnx and venv: $(tail -n 1 "$work/said")"
[[ $(ldconfig -p) == *libdeflate.so.0* ]] || skip "libdeflate0 is not installed: the wheel would be larger than its limit"

# The modules alone: the same bytes, whatever the time of the files.
pure='import sys; sys.path.insert(0, sys.argv[1]); import mlc_wheel; mlc_wheel.build_wheel(sys.argv[2])'
cp -r "$source/python" "$source/LICENSE" "$source/CMakeLists.txt" "$work/"
mkdir "$work/first" "$work/second"
export SOURCE_DATE_EPOCH=1700000000
$python -B -c "$pure" "$source/python/backend" "$work/first"
$python -B -c "$pure" "$work/python/backend" "$work/second"
cmp "$work/first"/*.whl "$work/second"/*.whl || fail "two wheels of the same files differ"

code=0
"$source/deploy/wheel.sh" --build "$build" "$work/dist" || code=$?
if ((code == 78)); then
  grep -q '^VERSION_CODENAME=bookworm$' /etc/os-release && fail "the programs need newer libraries than the wheel promises"
  skip "the programs need newer libraries than the wheel's: it is made on Debian 12"
fi
((code == 0)) || fail "wheel.sh ended with $code"
wheel=$(echo "$work"/dist/mlc_tune-*-py3-none-manylinux_2_35_x86_64.whl)
size=$(stat -c %s "$wheel")
((size <= limit)) || fail "the wheel has $size bytes, more than $limit"
$python -m zipfile -t "$wheel" | grep -q 'Done testing' || fail "the wheel is damaged"
$python -m zipfile -l "$wheel" >"$work/files"
for file in dist-info/licenses/LICENSE sboms/mlc-tune.spdx.json mlc_tune/py.typed mlc_tune/bin/mlc-worker licenses/debian/libgrpc; do
  grep -qF "$file" "$work/files" || fail "the wheel lacks $file"
done

$python -m venv --system-site-packages "$work/env"
"$work/env/bin/pip" install -q --no-index --no-deps "$wheel"
$python "$source/tests/models/make_model.py" resnet18 --reduced "$work/tiny.onnx"
cat >"$work/use.py" <<'END'
import sys
import mlc_tune
import numpy as np

model, folder = sys.argv[1:]
assert mlc_tune.__file__.startswith(folder), mlc_tune.__file__
assert mlc_tune.__version__ != "0+tree"
result = mlc_tune.tune(model, trials=20, log=folder + "/tuning.db", target="cpu", threads=1, progress=False)
assert result.trials == 20, result
library = mlc_tune.compile(model, log=result.log, target="cpu", threads=1)
x = np.random.default_rng(0).standard_normal(library.inputs[0].shape, np.float32)
tuned = library(x)[0]
(untuned,) = mlc_tune.InferenceSession(model).run(None, {library.inputs[0].name: x})
np.testing.assert_allclose(tuned, untuned, rtol=1e-3, atol=1e-4)
END
# Nothing of this machine's variables, and no program on PATH.
cd "$work"
env -i HOME="$work" TMPDIR="$work" PATH=/nowhere "$work/env/bin/python" use.py "$work/tiny.onnx" "$work"
for program in mlc-tune mlc-compile mlc-run mlc-log mlc-worker; do
  env -i PATH=/usr/bin:/bin "$work/env/bin/$program" --version >"$work/said" || fail "$program does not run"
  grep -q "^$program " "$work/said" || fail "$program says $(cat "$work/said")"
done
echo "wheel of $size bytes works in an empty environment"
