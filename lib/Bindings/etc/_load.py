"""Loads the runtime so that it uses its own Gloo.

PyTorch has a Gloo of another version inside. It is not visible to others, unless
PyTorch was loaded with RTLD_GLOBAL (TORCH_USE_RTLD_GLOBAL): then our library has to
look for symbols in what it was linked with first.
"""

import ctypes
import importlib
import os
import sys

# gloo::transport::tcp::CreateDevice
_GLOO = "_ZN4gloo9transport3tcp12CreateDeviceERKNS1_4attrE"


def load_runtime() -> None:
    """Imports etc._run."""
    if not hasattr(ctypes.CDLL(None), _GLOO):
        importlib.import_module("etc._run")
        return
    before = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
    try:
        importlib.import_module("etc._run")
    finally:
        sys.setdlopenflags(before)
