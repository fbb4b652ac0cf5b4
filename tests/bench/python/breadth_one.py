"""One model of breadth.py, in one way, in a process of its own: `breadth_one.py NAME WAY DEVICE`.

It prints a JSON record. Then, for each line of seconds that it reads, it prints the median time in ms of calls for so long.
"""

import copy
import json
import re
import sys
import time
import warnings

import breadth_models
import torch

BOUND = 1e-3  # of an output's largest magnitude
BOUND_TF32 = 2e-2  # where eager mode computes in tf32, as on a GPU


def tensors(value, seen=None):
    """All tensors of nested outputs, in a fixed order."""
    seen = set() if seen is None else seen
    if isinstance(value, torch.Tensor):
        return [value]
    if value is None or isinstance(value, (str, int, float, bool)) or id(value) in seen:
        return []
    seen.add(id(value))
    if isinstance(value, dict) or hasattr(value, "keys") and hasattr(value, "values") and callable(value.keys):
        value = list(value.values())
    elif not isinstance(value, (tuple, list)):
        value = list(vars(value).values()) if hasattr(value, "__dict__") else []
    return [tensor for part in value for tensor in tensors(part, seen)]


def difference(got, wanted):
    """Largest difference over the largest magnitude of its output. Whole numbers must be equal: infinity if not."""
    got, wanted = tensors(got), tensors(wanted)
    if [t.shape for t in got] != [t.shape for t in wanted]:
        return float("inf")
    largest = 0.0
    for one, other in zip(got, wanted):
        one, other = one.detach().double().cpu(), other.detach().double().cpu()
        if not other.numel():
            continue
        if not torch.equal(one.isfinite(), other.isfinite()):
            return float("inf")
        one, other = one.nan_to_num(0, 0, 0), other.nan_to_num(0, 0, 0)
        scale = float(other.abs().max())
        largest = max(largest, float((one - other).abs().max()) / max(scale, 1e-30))
    return largest


def wide(value):
    """Nested arguments in double precision."""
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, (tuple, list)):
        return type(value)(map(wide, value))
    return {name: wide(one) for name, one in value.items()} if isinstance(value, dict) else value


def error_of_eager(module, args, kwargs, outputs):
    """How far eager mode is from itself in double precision."""
    return difference(copy.deepcopy(module).double()(*wide(args), **wide(kwargs)), outputs)


def moved(value, device):
    """Nested arguments on the device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, (tuple, list)):
        return type(value)(moved(one, device) for one in value)
    return {name: moved(one, device) for name, one in value.items()} if isinstance(value, dict) else value


def median_ms(call, seconds, device):
    """The median time of a call; the first one, which wakes threads, does not count."""
    call()
    taken = []
    end = time.perf_counter() + seconds
    while not taken or time.perf_counter() < end:
        if device != "cpu":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        if device != "cpu":
            torch.cuda.synchronize()
        taken.append((time.perf_counter() - begin) * 1e3)
    return sorted(taken)[len(taken) // 2]


def plain(reason):
    """A reason without what differs between models of one kind."""
    reason = re.sub(r"mlc: a graph of \d+ operators runs in eager mode: ", "", reason)
    reason = re.sub(r"/tmp/\S+|0x[0-9a-f]+", "...", reason)
    return " ".join(reason.split())[:300]


def by_mlc(module, args, kwargs):
    """The compiled model, and what to say about it after two calls."""
    import mlc_tune.torch
    from mlc_tune.torch import _graph

    compiled = torch.compile(module, backend="mlc", options={"cache": False})
    caught = warnings.catch_warnings(record=True)
    said = caught.__enter__()
    warnings.simplefilter("always")
    for _ in range(2):
        result = compiled(*args, **kwargs)
    caught.__exit__(None, None, None)
    graphs = _graph.live_graphs()
    libraries = sum(bool(graph.plans) for graph in graphs)
    reasons = [plain(str(w.message)) for w in said if issubclass(w.category, mlc_tune.torch.EagerWarning)]
    # A graph of views alone needs no library.
    idle = sum(reason in ("it computes nothing", "it depends on weights alone") for reason in reasons)
    if libraries == len(graphs) == 1:
        verdict = "whole"
    elif libraries:
        verdict = "parts"
    else:
        verdict = "none"
    return compiled, result, {
        "verdict": verdict,
        "graphs": len(graphs),
        "libraries": libraries,
        "idle": idle,
        "reasons": sorted(set(reasons)),
    }


def by_inductor(module, args, kwargs, mode=None):
    from torch._dynamo.utils import counters

    compiled = torch.compile(module, mode=mode)
    for _ in range(3):
        result = compiled(*args, **kwargs)
    graphs = counters["stats"]["unique_graphs"]
    verdict = "none" if not graphs else "whole" if graphs == 1 and not counters["graph_break"] else "parts"
    return compiled, result, {"verdict": verdict, "graphs": graphs}


def by_inductor_graphs(module, args, kwargs):
    """With CUDA graphs, which inductor leaves out by default."""
    return by_inductor(module, args, kwargs, "reduce-overhead")


def by_onnxruntime(module, args, kwargs):
    """Of the whole model, exported as its users would do it."""
    import tempfile

    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/model.onnx"
        torch.onnx.export(module, args, path, kwargs=kwargs, dynamo=True, verbose=False)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = [t.numpy() for t in tensors([args, kwargs])]
    feed = {port.name: array for port, array in zip(session.get_inputs(), given)}

    def call(*_args, **_kwargs):
        return [torch.from_numpy(array) for array in session.run(None, feed)]

    return call, call(), {"verdict": "whole", "graphs": 1}


def by_eager(module, args, kwargs):
    return module, module(*args, **kwargs), {"verdict": "none"}


WAYS = {"eager": by_eager, "mlc": by_mlc, "inductor": by_inductor, "inductor-graphs": by_inductor_graphs, "onnxruntime": by_onnxruntime}


def one_way(way, module, args, kwargs, wanted):
    """A compiled call and its record."""
    begin = time.perf_counter()
    row = {}
    compiled, result, about = WAYS[way](module, args, kwargs)
    row |= about
    distance = difference(result, wanted)
    row["difference"] = distance if distance != float("inf") else "other sizes or values"
    row["right"] = distance <= (BOUND if tensors(wanted)[0].device.type == "cpu" else BOUND_TF32)
    if not row["right"] and distance != float("inf"):
        # A detector that sorts boxes by scores of random weights is as far from itself.
        own = error_of_eager(module, args, kwargs, wanted)
        row |= {"eager_error": own, "right": distance <= 2 * own}
    row["seconds"] = round(time.perf_counter() - begin, 1)
    return compiled, row


def record(name, way, device):
    """The record of a model, and a call of it, None if there is none."""
    row = {"model": name, "way": way, "device": device}
    try:
        module, args, kwargs = breadth_models.make(name)
        module, args, kwargs = module.to(device), moved(args, device), moved(kwargs, device)
        with torch.inference_mode():
            wanted = module(*args, **kwargs)
    except Exception as error:  # the model itself does not run here
        return row | {"verdict": "no model", "reasons": [plain(f"{type(error).__name__}: {error}")]}, None
    row["weights"] = sum(p.numel() for p in module.parameters())
    try:
        with torch.inference_mode():
            compiled, about = one_way(way, module, args, kwargs, wanted)
        return row | about, lambda: compiled(*args, **kwargs)
    except Exception as error:  # of any exporter or compiler
        return row | {"verdict": "failed", "reasons": [plain(f"{type(error).__name__}: {error}")]}, None


def main(name, way, device):
    if device != "cpu":
        torch.set_float32_matmul_precision("high")  # tf32, as convolutions have by default there
    row, call = record(name, way, device)
    print(json.dumps(row), flush=True)
    with torch.inference_mode():
        for line in sys.stdin if call else ():
            print(median_ms(call, float(line), device), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4])
