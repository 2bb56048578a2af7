"""The set-up's modules lie next to their script, in no package: they run before there is one."""

import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[3] / "scripts" / "device-host"

if str(SCRIPTS) not in sys.path:
    sys.path.append(str(SCRIPTS))
