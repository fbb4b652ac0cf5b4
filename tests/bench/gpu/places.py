"""Where cases run: one GPU with its share of the CPUs, or the CPU; and what the machine is."""
import dataclasses
import importlib.metadata
import os
import subprocess


@dataclasses.dataclass(frozen=True)
class Place:
    device: str  # cuda | cpu
    gpu: str     # as CUDA_VISIBLE_DEVICES has it; "" for the CPU
    cpus: frozenset

    @property
    def cpu_count(self):
        return len(self.cpus)

    @property
    def environment(self):
        return dict(os.environ, CUDA_VISIBLE_DEVICES=self.gpu)

    def enter(self):
        """Keeps this thread, and the processes that it starts, to the CPUs of the place."""
        os.sched_setaffinity(0, self.cpus)


def asked(query):
    """A line for each GPU; none without a driver."""
    try:
        command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return found.stdout.strip().splitlines() if found.returncode == 0 else []


def all_places(device, gpus):
    """Of the GPUs named, or of those that are visible."""
    allowed = sorted(os.sched_getaffinity(0))
    if device == "cpu":
        return [Place("cpu", "", frozenset(allowed))]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    names = gpus or [name for name in visible.split(",") if name] or asked("index") or ["0"]
    share = max(1, len(allowed) // len(names))
    parts = [allowed[i * share % len(allowed):][:share] for i in range(len(names))]
    return [Place("cuda", name.strip(), frozenset(part)) for name, part in zip(names, parts)]


def machine():
    """The cards with their driver, and the packages' versions."""
    about = {"card": "; ".join(sorted(set(asked("name,driver_version")))) or "no GPU", "cpus": len(os.sched_getaffinity(0))}
    for package in ("torch", "torchvision", "transformers", "onnx", "onnxscript", "triton"):
        try:
            about[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return about
