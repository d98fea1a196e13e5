"""Imports the shim as Python starts, in the processes of an application that `shim.run` started.

Python imports ``sitecustomize`` at startup, from the first folder that has it; ``run`` puts the
folder of this one into PYTHONPATH. The one that Python would have found otherwise comes next, and
the folder is no longer on ``sys.path`` when the application runs.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_HERE = Path(__file__).absolute().parent


def _import_shim() -> None:
    """Import the very package that this file is in, wherever ``sys.path`` leads to."""
    package = _HERE.parent
    spec = spec_from_file_location(
        "shim", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["shim"] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["shim"]
        raise


def _import_next() -> None:
    sys.path[:] = [folder for folder in sys.path if folder != str(_HERE)]
    spec = PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules["sitecustomize"])


try:
    # Another Python that the application starts has other packages, and maybe not wrapt.
    if os.environ.get("OPENAI_AGENTS_SHIM_RUN") == os.path.realpath(sys.prefix):
        _import_shim()
finally:
    _import_next()
