"""The command line of the suite. Exits non-zero for any wrong verdict."""

import argparse
import json
import os
import sys
from itertools import count
from pathlib import Path

from faults import suite
from faults.matrix import Case, Judged, full, short, tally
from faults.record import PAGE, RECORD, encode, page, summary, versions
from megtrim.libs.util.process import ProcessRunner

ROOT = Path(__file__).resolve().parents[2]
_LANES = 6


def main() -> int:
    options = _options()
    if options.cases:
        suite.child([int(number) for number in options.cases.split(",")], in_short=options.short)
        return 0
    cases = _cases(options)
    numbers = count(1)

    def tell(judged: Judged) -> None:
        _say(f"{next(numbers):4}/{len(cases)} {_line(judged)}")

    judged, wall_s = suite.run(cases, lanes=options.lanes, in_short=options.short, tell=tell)
    _say(summary(judged))
    processes = ProcessRunner(os.environ)
    result = {
        "version": 1,
        "phones": 2 * options.lanes,
        "wall_s": round(wall_s, 1),
        "programs": versions(processes),
        "runs": [encode(each) for each in judged],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    targets = [(options.out / "faults.json", options.out / "faults.md")]
    targets += [(ROOT / RECORD, ROOT / PAGE)] if options.publish else []
    for record, shown in targets:
        text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
        record.write_text(text, encoding="utf-8")
        shown.write_text(page(result), encoding="utf-8")
        _say(f"written: {record}, {shown}")
    total = tally(judged)
    return 1 if total.wrong or total.void else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--short", action="store_true", help="some cases instead of all")
    parser.add_argument("--only", action="append", default=[], metavar="FAULT[/MOMENT]")
    parser.add_argument("--lanes", type=int, default=_LANES, help="pairs of phones at once")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "faults")
    parser.add_argument("--publish", action="store_true", help=f"write {PAGE} again")
    parser.add_argument(suite.CASES, help=argparse.SUPPRESS)
    return parser.parse_args()


def _cases(options: argparse.Namespace) -> tuple[Case, ...]:
    cases = short() if options.short else full()
    wanted = set(options.only)
    return tuple(
        case
        for case in cases
        if not wanted or wanted & {case.fault.value, f"{case.fault}/{case.moment}"}
    )


def _line(judged: Judged) -> str:
    seen = judged.seen
    marks = [f"WRONG: {each}" for each in judged.wrong]
    marks += ["void: the fault never hit"] if judged.void else []
    marks += [f"given up: {seen.text[:300]}"] if judged.given_up else []
    return "  ".join((f"{judged.case}: {seen.verdict}, {seen.wall_s:.0f} s", *marks))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
