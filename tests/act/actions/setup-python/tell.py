"""Stand-in for actions/setup-python: the Python that runs this."""

import os
import platform
import sys
from pathlib import Path

with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
    output.write(f"python-path={sys.executable}\npython-version={platform.python_version()}\n")
