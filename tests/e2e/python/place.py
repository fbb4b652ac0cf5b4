"""Where the tests of the Python package find it and the programs.

  X_test.py BIN_FOLDER SOURCE_FOLDER [unittest's arguments]

Imported first by each test. Nothing is written beside sources, and the cache is of the test alone.
"""

import atexit
import os
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
BIN = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
PACKAGE = SOURCE / "python"
UNITTEST_ARGUMENTS = [sys.argv[0], *sys.argv[3:]]
sys.path.insert(0, str(PACKAGE))

for name in [name for name in os.environ if name.startswith("MLC_")]:
    if name != "MLC_GPU_LOCKS":
        del os.environ[name]
SCRATCH = tempfile.mkdtemp(prefix="mlc-python-")
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)
os.environ.update(
    MLC_BIN=str(BIN),
    MLC_CONFIG="",
    PYTHONPATH=str(PACKAGE),
    PYTHONDONTWRITEBYTECODE="1",
    XDG_CACHE_HOME=str(pathlib.Path(SCRATCH, "cache")),
)
