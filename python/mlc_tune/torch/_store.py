"""From an ONNX file of the exporter to a loaded library, by the cache of compiled models."""

from __future__ import annotations

import functools
import hashlib
import os

import torch

from .. import _cache, _onnx_file
from .._compile import kernel_text, run_compile
from .._errors import ConfigurationError, DataError
from .._library import Library
from .._temporary import TemporaryFolder
from ._device import facts_of
from ._options import Options


class Source:
    """The ONNX file of a graph, in a temporary folder that goes with this object."""

    def __init__(self) -> None:
        self._folder = TemporaryFolder()
        self.path: str = os.path.join(self._folder.path, "model.onnx")

    def read(self) -> None:
        """Reads the file after it was written."""
        data = self._data()
        self._external = _onnx_file.read(data).external
        digest = hashlib.sha256(data)
        for location in sorted(self._external):
            digest.update(_cache.file_digest(os.path.join(self._folder.path, location)))
        #: Equal for equal graphs with equal weights.
        self.digest: str = digest.hexdigest()

    def _data(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read()

    def library(self, options: Options, device: "torch.device") -> Library:
        """Compiles it for tensors on the device, unless the cache has it."""
        flags = options.flags()
        load = functools.partial(Library, device=device.index or 0)

        def into(folder: str) -> None:
            run_compile(self.path, flags, folder)

        if not options.cache:
            made = TemporaryFolder()
            folder = os.path.join(made.path, "model")
            into(folder)
            return load(folder, owner=made)
        facts = [*flags, facts_of(device)]
        name = _cache.key(
            self._data(),
            self._folder.path,
            self._external,
            facts,
            options.log or "",
            lambda: kernel_text(self.path, flags),
        )
        folder, owner = _cache.library(name, into)
        try:
            return load(folder, owner=owner)
        except (DataError, ConfigurationError):
            if owner is not None:
                raise
        # A damaged file, or one of a machine that looked the same.
        folder, owner = _cache.library(name, into, again=True)
        return load(folder, owner=owner)
