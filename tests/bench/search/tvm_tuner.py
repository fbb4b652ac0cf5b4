"""Tunes one ONNX model with TVM MetaSchedule on the CPU, then times the compiled model.

    tvm_tuner.py MODEL OUT --trials N [--passes N --round N] --threads N --seed N
    tvm_tuner.py MODEL OUT --time SECONDS --threads N

Runs in a Python with apache-tvm 0.27 (and apache-tvm-ffi 0.1.14), xgboost, psutil, cloudpickle and onnx. The folder OUT gets
tuned.json (the seconds of each measured trial with the model's time so far, and the final latencies), library.so, and the
inputs and outputs of one call. With --passes each task gets so many rounds of trials instead; TVM reports a task's results when
it comes to the task again, or at the end. With --time the library of an earlier call is timed again, and its median in ms is
printed.
"""
import argparse
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


def with_short_stacks(threads):
    """Begins again with the module above on the path, which TVM's workers inherit."""
    if os.environ.get("MLC_TVM_SITE"):
        return
    folder = tempfile.mkdtemp(prefix="tvm-site-")
    pathlib.Path(folder, "sitecustomize.py").write_text(SITE)
    os.environ.update(MLC_TVM_SITE=folder, PYTHONPATH=folder, TVM_NUM_THREADS=str(threads))
    os.execv(sys.executable, [sys.executable, *sys.argv])


def tune(options, model):
    """The compiled library and what tuning gave."""
    import numpy as np
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.ir.utils import derived_object
    from tvm.s_tir import meta_schedule as ms

    cpu = tvm.target.codegen.llvm_get_system_cpu()
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": options.threads})
    with target:
        module = relax.get_pipeline("zero")(from_onnx(model))  # operators become fused loops
    tasks = ms.relax_integration.extract_tasks(module, target, None)
    index = {task.task_name: i for i, task in enumerate(tasks)}
    weights = [task.weight for task in tasks]
    trials = options.passes * options.round * len(tasks) if options.passes else options.trials
    best, curve = [None] * len(tasks), []
    start = time.monotonic()

    @derived_object
    class Watch(ms.measure_callback.PyMeasureCallback):
        def apply(self, scheduler, task_id, candidates, builds, results):
            at = index.get(str(scheduler.tasks_[task_id].ctx.task_name), task_id)
            for result in results or []:
                if result is not None and result.error_msg is None:
                    ms_ = 1e3 * float(np.mean([float(value) for value in result.run_secs]))
                    best[at] = min(ms_, best[at] or ms_)
                whole = sum(w * b for w, b in zip(weights, best)) if None not in best else None
                curve.append((round(time.monotonic() - start, 3), whole))

    with tempfile.TemporaryDirectory(prefix="tvm-tuning-") as work:
        database = ms.relax_integration.tune_relax(
            module, {}, target, work, max_trials_global=trials, num_trials_per_iter=options.round, seed=options.seed,
            measure_callbacks=[*ms.MeasureCallback.create("default"), Watch()])
        seconds = time.monotonic() - start
        # The tuned functions are put into the module that was tuned: compile_relax fuses again first, and then finds none.
        with target, database, tvm.transform.PassContext(opt_level=3):
            scheduled = relax.transform.MetaScheduleApplyDatabase(enable_warning=True)(module)
            library = relax.build(scheduled, target=target)
    return library, {"tasks": len(tasks), "untuned_tasks": best.count(None), "trials": len(curve), "seconds": seconds,
                     "curve": curve, "tvm": tvm.__version__, "cpu": cpu}


def inputs_of(model):
    import numpy as np
    import onnx
    rng = np.random.default_rng(0)
    initializers = {i.name for i in model.graph.initializer}
    for port in model.graph.input:
        if port.name in initializers:
            continue
        dims = [d.dim_value for d in port.type.tensor_type.shape.dim]
        whole = port.type.tensor_type.elem_type == onnx.TensorProto.INT64
        yield np.ones(dims, np.int64) if whole else rng.standard_normal(dims).astype(np.float32)


def timed(machine, inputs, seconds):
    times = []
    machine["main"](*inputs)
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times) < 20:
        begin = time.perf_counter()
        machine["main"](*inputs)
        times.append(1e3 * (time.perf_counter() - begin))
    return sorted(times)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("model")
    flags.add_argument("out", type=pathlib.Path)
    flags.add_argument("--trials", type=int, default=128)
    flags.add_argument("--round", type=int, default=64)
    flags.add_argument("--passes", type=int, default=0)
    flags.add_argument("--threads", type=int, default=2)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--time", type=float)
    options = flags.parse_args()
    with_short_stacks(options.threads)
    import numpy as np
    import onnx
    import tvm
    from tvm import relax
    model = onnx.load(options.model)
    values = list(inputs_of(model))
    inputs = [tvm.runtime.tensor(value) for value in values]
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "library.so"
    if options.time is not None:
        times = timed(relax.VirtualMachine(tvm.runtime.load_module(str(file)), tvm.cpu()), inputs, options.time)
        print(times[len(times) // 2])
        return
    library, result = tune(options, model)
    library.export_library(str(file))
    machine = relax.VirtualMachine(library, tvm.cpu())
    outputs = machine["main"](*inputs)
    for k, value in enumerate(values):
        np.save(options.out / f"input_{k}.npy", value)
    for k, output in enumerate([outputs] if hasattr(outputs, "numpy") else outputs):
        np.save(options.out / f"output_{k}.npy", output.numpy())
    times = timed(machine, inputs, 3)
    result.update(latency_ms=times[len(times) // 2], p10_ms=times[len(times) // 10], p90_ms=times[len(times) * 9 // 10])
    (options.out / "tuned.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
