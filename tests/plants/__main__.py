"""Plant defects in copies of the tree, and see which of them tests notice.

Ends with 1 where fewer than 97 % are killed or a plant cannot be tried.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TextIO

from megtrim.libs.util.errors import Interrupted
from megtrim.libs.util.process import ProcessRunner
from plants.plant import Plant, load_plants, select
from plants.trial import Settings, describe, encode, passes, summarize, try_plants

_TIMEOUT_S = 600.0
_INTERRUPTED = 130


def main() -> int:
    parser = argparse.ArgumentParser(prog="plants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ROOM[/NAME]", help="some instead of all")
    parser.add_argument("--list", action="store_true", help="name the plants and plant nothing")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), metavar="N")
    parser.add_argument("--timeout", type=float, default=_TIMEOUT_S, metavar="SECONDS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results, too")
    options = parser.parse_args()
    try:
        plants = select(load_plants(), options.names)
    except KeyError as error:
        parser.error(f"no room and no plant is called {error.args[0]}; --list names them")
    if options.list:
        for plant in plants:
            _say(f"{plant.name}: {plant.defect}")
        return 0
    return _try(plants, options)


def _try(plants: tuple[Plant, ...], options: argparse.Namespace) -> int:
    settings = Settings(processes=ProcessRunner(os.environ), timeout_s=options.timeout)
    try:
        results = try_plants(
            plants,
            settings,
            jobs=options.jobs,
            tell=lambda result: _say(describe(result), sys.stderr),
        )
    except (KeyboardInterrupt, Interrupted):
        return _INTERRUPTED
    for line in summarize(results):
        _say(line)
    if options.json:
        text = json.dumps(encode(results), indent=1) + "\n"
        options.json.write_text(text, encoding="utf-8")
    return 0 if passes(results) else 1


def _say(text: str, stream: TextIO = sys.stdout) -> None:
    stream.write(f"{text}\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main())
