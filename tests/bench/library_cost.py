#!/usr/bin/env python3
"""What a compiled model costs to load, and its size beyond the weights.

    library_cost.py --bin build/release/bin FOLDER...       folders that mlc-compile wrote

Load: dlopen, open and create_session as mlc-run reports them, median of 15 processes. Size: of the shared library, less the
bytes of weights as its kernels read them (report.json tells them).
"""
import argparse
import glob
import json
import os
import statistics
import subprocess


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("folders", nargs="+")
    args = parser.parse_args()
    print("| library | load, ms | size, MB | of it weights | beyond the weights |\n|---|---|---|---|---|")
    for folder in args.folders:
        loads = []
        for _ in range(15):
            output = subprocess.run([f"{args.bin}/mlc-run", folder, "--bench", "0.01", "--json"], check=True, capture_output=True,
                                    text=True).stdout
            loads.append(json.loads(output)["load_ms"])
        library = glob.glob(f"{folder}/lib*.so")[0]
        with open(f"{folder}/report.json") as f:
            weights = json.load(f)["weights_bytes"]
        size = os.path.getsize(library)
        print(f"| {os.path.basename(folder.rstrip('/'))} | {statistics.median(loads):.1f} | {size / 1e6:.1f} | {weights / 1e6:.1f} | "
              f"{(size - weights) / 1e6:.2f} |", flush=True)


if __name__ == "__main__":
    main()
