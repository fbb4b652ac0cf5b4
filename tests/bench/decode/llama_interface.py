"""The few functions of llama.cpp's C interface that a decoder needs, from whichever package of Python has the library:
llama-cpp-python, which compiles it, or xllamacpp, whose wheel has it compiled for AVX2."""
import ctypes
import importlib.util
import pathlib

SPACE = 1024  # of parameters that are passed by value: no version's have more bytes, and only the first is set


class Params(ctypes.Structure):
    _fields_ = [("first", ctypes.c_uint32), ("rest", ctypes.c_uint8 * SPACE)]


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", ctypes.c_int32), ("token", ctypes.POINTER(ctypes.c_int32)), ("embd", ctypes.c_void_p),
                ("pos", ctypes.POINTER(ctypes.c_int32)), ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
                ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))), ("logits", ctypes.POINTER(ctypes.c_int8))]


LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
POINTER, INT = ctypes.c_void_p, ctypes.c_int32
FUNCTIONS = {
    "llama_log_set": (None, [LOG, POINTER]),
    "llama_backend_init": (None, []),
    "llama_print_system_info": (ctypes.c_char_p, []),
    "llama_model_default_params": (Params, []),
    "llama_context_default_params": (Params, []),
    "llama_model_load_from_file": (POINTER, [ctypes.c_char_p, Params]),
    "llama_init_from_model": (POINTER, [POINTER, Params]),
    "llama_set_n_threads": (None, [POINTER, INT, INT]),
    "llama_get_memory": (POINTER, [POINTER]),
    "llama_memory_clear": (None, [POINTER, ctypes.c_bool]),
    "llama_batch_init": (Batch, [INT, INT, INT]),
    "llama_decode": (INT, [POINTER, Batch]),
    "llama_synchronize": (None, [POINTER]),
    "llama_get_logits_ith": (ctypes.POINTER(ctypes.c_float), [POINTER, INT]),
}


def path_of_library():
    """None: no package has it."""
    for package, name in (("llama_cpp", "lib/libllama.so"), ("xllamacpp", "xllamacpp.abi3.so")):
        found = importlib.util.find_spec(package)
        for folder in found.submodule_search_locations if found else ():
            if (pathlib.Path(folder) / name).exists():
                return pathlib.Path(folder) / name
    return None


def functions():
    library = ctypes.CDLL(str(path_of_library()))
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
