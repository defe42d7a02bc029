"""Loads the runtime so that it uses its own Gloo.

PyTorch contains another version of Gloo. Its symbols are hidden unless PyTorch was
loaded with RTLD_GLOBAL (TORCH_USE_RTLD_GLOBAL). In that case our library must look up
symbols first in the libraries that it was linked with.
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
