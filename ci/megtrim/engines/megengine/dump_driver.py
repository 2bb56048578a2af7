"""Runs in the user's Python with the engine's package: loads a script, and dumps a model.

It imports nothing of megtrim, and works with Python 3.6. Arguments: script, function, model, JSON,
report, options as JSON. The function is or returns a traced function (``megengine.jit.trace`` with
``capture_as_const=True``, called once).
"""

import importlib
import json
import os
import runpy
import sys

NO_PACKAGE = 70
"""Exit status: the engine's package is missing, or cannot be loaded."""
NO_FUNCTION = 71
"""Exit status: the script has no such function, or it returns nothing that can be dumped."""


def main(script: str, function: str, model: str, strip_info: str, report: str, options: str) -> int:
    """Dump the model and the operator JSON, and write a report of the versions used."""
    sys.path[0] = os.path.dirname(os.path.abspath(script))  # noqa: PTH100, PTH120 - as for python
    try:
        megengine = importlib.import_module("megengine")
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        return NO_PACKAGE
    found = runpy.run_path(script, run_name="megtrim_dump").get(function)
    if callable(found) and not hasattr(found, "dump"):
        found = found()
    dump = getattr(found, "dump", None)
    if dump is None:
        return NO_FUNCTION
    dump(model, strip_info_file=strip_info, append_json=False, **json.loads(options))
    versions = {
        "megengine": str(getattr(megengine, "__version__", "")),
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    with open(report, "w") as stream:  # noqa: PTH123
        json.dump(versions, stream)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
