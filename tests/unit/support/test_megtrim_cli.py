"""What the server has loaded that megtrim is forked from."""

from pathlib import Path

from support.megtrim_cli import CONTEXT, start_server

CODE = """\
import sys
from pathlib import Path
Path({!r}).write_text(str("support.settled" in sys.modules))
"""


def test_the_server_finds_all_that_it_is_to_load(tmp_path: Path) -> None:
    """It says nothing of a module that it cannot import, and each run would then load it."""
    said = tmp_path / "said"
    start_server()

    process = CONTEXT.Process(target=exec, args=(CODE.format(str(said)),))
    process.start()
    process.join()

    assert said.read_text(encoding="utf-8") == "True"
