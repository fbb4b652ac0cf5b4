"""Tunes one ONNX model with TVM MetaSchedule on the CPU, then times the compiled model.

    tvm_tuner.py MODEL TRIALS THREADS SEED OUT.json

Runs in a Python with apache-tvm 0.27 (and apache-tvm-ffi 0.1.14), xgboost, psutil, cloudpickle and onnx. OUT.json gets the
seconds of each measured trial with the model's time so far, and the final latencies.
"""
import json
import os
import pathlib
import sys
import tempfile
import time

# TVM's workers import inspect.stack() users that read every source file, for 25 s of their 30: a stack without sources.
SITE = """
import inspect, sys
def stack(context=1):
    frame, frames = sys._getframe(1), []
    while frame:
        frames.append(inspect.FrameInfo(frame, frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, None, None))
        frame = frame.f_back
    return frames
inspect.stack = stack
"""


def with_short_stacks():
    """Begins again with the module above on the path, which TVM's workers inherit."""
    if os.environ.get("MLC_TVM_SITE"):
        return
    folder = tempfile.mkdtemp(prefix="tvm-site-")
    pathlib.Path(folder, "sitecustomize.py").write_text(SITE)
    os.environ.update(MLC_TVM_SITE=folder, PYTHONPATH=folder, TVM_NUM_THREADS=sys.argv[3])
    os.execv(sys.executable, [sys.executable, *sys.argv])


def main():
    model_path, trials, threads, seed, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    import numpy as np
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.ir.utils import derived_object
    from tvm.s_tir import meta_schedule as ms

    model = onnx.load(model_path)
    cpu = tvm.target.codegen.llvm_get_system_cpu()
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": threads})
    with target:
        module = relax.get_pipeline("zero")(from_onnx(model))  # operators become fused loops
    tasks = ms.relax_integration.extract_tasks(module, target, None)
    weights = [task.weight for task in tasks]
    best, curve = [None] * len(tasks), []
    start = time.monotonic()

    @derived_object
    class Watch(ms.measure_callback.PyMeasureCallback):
        def apply(self, scheduler, task_id, candidates, builds, results):
            for result in results or []:
                if result is not None and result.error_msg is None:
                    ms_ = 1e3 * float(np.mean([float(value) for value in result.run_secs]))
                    best[task_id] = min(ms_, best[task_id] or ms_)
                whole = sum(w * b for w, b in zip(weights, best)) if None not in best else None
                curve.append((round(time.monotonic() - start, 3), whole))

    with tempfile.TemporaryDirectory(prefix="tvm-tuning-") as work:
        database = ms.relax_integration.tune_relax(
            module, {}, target, work, max_trials_global=trials, seed=seed,
            measure_callbacks=[*ms.MeasureCallback.create("default"), Watch()])
        seconds = time.monotonic() - start
        # The tuned functions are put into the module that was tuned: compile_relax fuses again first, and then finds none.
        with target, database, tvm.transform.PassContext(opt_level=3):
            scheduled = relax.transform.MetaScheduleApplyDatabase(enable_warning=True)(module)
            library = relax.build(scheduled, target=target)
    machine = relax.VirtualMachine(library, tvm.cpu())
    rng = np.random.default_rng(0)
    initializers = {i.name for i in model.graph.initializer}
    inputs = []
    for port in model.graph.input:
        if port.name in initializers:
            continue
        dims = [d.dim_value for d in port.type.tensor_type.shape.dim]
        whole = port.type.tensor_type.elem_type == onnx.TensorProto.INT64
        values = np.ones(dims, np.int64) if whole else rng.standard_normal(dims).astype(np.float32)
        inputs.append(tvm.runtime.tensor(values))
    times = []
    machine["main"](*inputs)
    end = time.monotonic() + 3
    while time.monotonic() < end or len(times) < 20:
        begin = time.perf_counter()
        machine["main"](*inputs)
        times.append(1e3 * (time.perf_counter() - begin))
    times.sort()
    pathlib.Path(out).write_text(json.dumps({
        "tasks": len(tasks), "trials": len(curve), "seconds": seconds, "curve": curve,
        "latency_ms": times[len(times) // 2], "p10_ms": times[len(times) // 10], "p90_ms": times[len(times) * 9 // 10],
        "tvm": tvm.__version__, "cpu": cpu}))


if __name__ == "__main__":
    with_short_stacks()
    main()
