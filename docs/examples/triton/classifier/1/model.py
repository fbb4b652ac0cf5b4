"""A compiled library as a model of Triton's Python backend; the library is in `library` beside."""

import json
import os

import triton_python_backend_utils as pb_utils

import mlc_tune


class TritonPythonModel:
    def initialize(self, args):
        folder = os.path.join(args["model_repository"], args["model_version"], "library")
        parameters = json.loads(args["model_config"]).get("parameters", {})
        threads = int(parameters.get("threads", {}).get("string_value", "0"))
        # Triton starts a process for each instance: each loads the library for itself.
        self.library = mlc_tune.load(folder, threads=threads)

    def execute(self, requests):
        return [self._respond(request) for request in requests]

    def _respond(self, request):
        try:
            arrays = {}
            for port in self.library.inputs:
                tensor = pb_utils.get_input_tensor_by_name(request, port.name)
                arrays[port.name] = tensor.as_numpy()
            outputs = self.library(arrays)
        except mlc_tune.Error as error:
            failure = pb_utils.TritonError(str(error))
            return pb_utils.InferenceResponse(output_tensors=[], error=failure)
        tensors = [pb_utils.Tensor(name, outputs[name]) for name in outputs.keys()]
        return pb_utils.InferenceResponse(output_tensors=tensors)

    def finalize(self):
        self.library.close()
