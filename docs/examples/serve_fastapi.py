#!/usr/bin/env python3
"""Serves a compiled model over HTTP by FastAPI.

MODEL=FOLDER uvicorn serve_fastapi:app

GET /model lists inputs and outputs. POST /infer takes {"inputs": {NAME: nested list}} and returns
{"outputs": {NAME: nested list}}; of inputs that do not fit, the answer is 422 with the reason.
"""

import os
from typing import Any, Dict

import numpy as np
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

import mlc_tune


class Request(BaseModel):
    inputs: Dict[str, Any]


def application(folder: str, threads: int = 1) -> FastAPI:
    """FastAPI runs the functions below in threads; each thread gets a session of the library. With
    one thread a session, requests share the processors instead of waiting for each other."""
    library = mlc_tune.load(folder, threads=threads)
    types = {port.name: port.dtype for port in library.inputs}
    app = FastAPI(title="mlc-tune")

    @app.get("/model")
    def describe() -> Dict[str, Any]:
        ports = {"inputs": library.inputs, "outputs": library.outputs}
        return {side: {p.name: [p.type, *p.shape] for p in ports[side]} for side in ports}

    @app.post("/infer")
    def infer(request: Request) -> Dict[str, Any]:
        try:
            arrays = {n: np.asarray(v, types.get(n)) for n, v in request.inputs.items()}
            outputs = library(arrays)
        except (mlc_tune.InputError, TypeError, ValueError, OverflowError) as error:
            raise HTTPException(422, str(error)) from error
        return {"outputs": {name: outputs[name].tolist() for name in outputs.keys()}}

    return app


if "MODEL" in os.environ:
    app = application(os.environ["MODEL"])
