"""The one place that reads the environment: once, into a value that everything else is given.

Part of the command line; an image that has little more than Python imports it, too, so it may
not import what needs the rest of megtrim's packages.
"""

from __future__ import annotations

import os

from megtrim.process import Processes


def open_processes() -> Processes:
    """Read the environment, once.

    Within a git hook, git's own variables would turn every question about an engine's checkout
    into one about the repository of the hook.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return Processes(own)
