#!/usr/bin/env python3
"""Writes cases of the operators that ONNX Runtime's tools add, with results by formulas in NumPy.

    make_cases.py FOLDER            writes the cases, for MLC_ONNX_FUSED of onnx_node_test
    make_cases.py FOLDER --runtime  also compares the formulas with an installed onnxruntime

The formulas follow the operators' published descriptions; they share no code with the importer.
"""
import sys

import attention_cases
import cases as files
import expert_cases
import head_cases
import product_cases
import weight_cases

FAMILIES = (attention_cases, expert_cases, head_cases, product_cases, weight_cases)


def compare_with_runtime(cases):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    agree, refused, failures = 0, [], []
    for case in cases:
        try:
            session = onnxruntime.InferenceSession(
                files.model_of(case).SerializeToString(), options,
                providers=["CPUExecutionProvider"])
            results = session.run(None, files.feeds_of(case))
        except Exception as error:  # the runtime has no kernel for every form
            refused.append(f"{case.name}: {str(error).splitlines()[0][:150]}")
            continue
        why = files.differs(case, results)
        agree += not why
        if why:
            failures.append(f"{case.name}: {why}")
    print(f"{agree} cases agree with onnxruntime {onnxruntime.__version__}, "
          f"{len(failures)} differ, {len(refused)} it refuses")
    for line in failures:
        print("differs:", line)
    for line in refused:
        print("refused:", line)
    return 1 if failures else 0


def main():
    cases = [case for family in FAMILIES for case in family.cases()]
    assert len({case.name for case in cases}) == len(cases), "two cases have one name"
    files.write_cases(cases, sys.argv[1])
    print(f"{len(cases)} cases in {sys.argv[1]}")
    return compare_with_runtime(cases) if "--runtime" in sys.argv[2:] else 0


if __name__ == "__main__":
    sys.exit(main())
