"""Give damaged files to every reader. Exits non-zero for any that is no error of megtrim's.

python -m fuzz [--count N] [--seed N] [READER ...]
"""

import argparse
import sys
import time

from fuzz.readers import READERS
from fuzz.run import MOST_MB, most_mb, run


def main() -> int:
    options = _options()
    bad = False
    for reader in READERS:
        if options.readers and reader.name not in options.readers:
            continue
        started = time.monotonic()
        tally = run(reader, options.count, options.seed)
        bad = bad or bool(tally.bugs) or most_mb() > MOST_MB
        _say(
            f"{reader.name:<18}{options.count:>7} files  {tally.refused:>6} refused  "
            f"{len(tally.bugs)} kinds of bugs  {time.monotonic() - started:6.1f} s  "
            f"longest {tally.longest_s:.2f} s  {most_mb():.0f} MB"
        )
        for kind, data in tally.bugs.items():
            _say(f"  {kind}: {data[:200]!r}")
    return int(bad)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="files for each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("readers", nargs="*", metavar="READER")
    return parser.parse_args()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
