"""Logs as each release of ``load_and_run`` writes them, made from times that were not rounded."""

import math
from dataclasses import dataclass, field
from enum import StrEnum

Times = tuple[float, ...]


class Form(StrEnum):
    CASES = "up to 1.6, a model with test cases"
    INPUT = "up to 1.6, with --input"
    BARE = "up to 1.6, a model without inputs"
    FIRST_LITE = "1.7 and 1.8"
    WITH_SPACES = "1.9"
    E2E = "1.10"
    LOGGED = "from 1.11 on"

    @property
    def old(self) -> bool:
        return self in (Form.CASES, Form.INPUT, Form.BARE)

    @property
    def end_to_end(self) -> bool:
        return self in (Form.E2E, Form.LOGGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeLog:
    form: Form
    load_ms: float
    prepare_ms: float
    warmup_ms: Times
    tests: tuple[tuple[Times, ...], ...]
    """Whole, host and device time of each iteration of each test."""
    version: str = "1.13.4"
    noise: tuple[str, ...] = field(default=("", "midout: 149 items written to trace"))

    def text(self) -> str:
        return "\n".join([*self.opening(), *self.times(), *self.noise]) + "\n"

    def opening(self) -> list[str]:
        named = f"using MegBrain {self.version}(0) and MegDNN 9.3.0"
        if self.form.old:
            return [f"mgb load-and-run: {named}"]
        return [f"{self._prefix(140)}megbrain/lite/load_and_run:", named, ""]

    def times(self) -> list[str]:
        load = f"{self._prefix(51)}load model: {self.load_ms:.3f}ms"
        times = self._old_times() if self.form.old else self._new_times()
        return [load, *times]

    def _prefix(self, line: int) -> str:
        return f"[20 20:42:51 @:{line}] " if self.form is Form.LOGGED else ""

    def _old_times(self) -> list[str]:
        count = len(self.tests)
        lines = [f"=== going to run {count} testcases; output vars: ADD(a,b)[7]{{1,1000}}"]
        lines = lines if self.form is Form.CASES else []
        lines.append(f"=== prepare: {self.prepare_ms:.3f}ms; going to warmup")
        lines += [f"warmup {i}: {ms:.3f}ms" for i, ms in enumerate(self.warmup_ms)]
        for number, test in enumerate(self.tests):
            times = f"{len(test)} times"
            if self.form is Form.BARE:
                lines.append(f"=== going to run for {times}; output vars: a{{1}}")
                whole = [each[0] for each in test]
                lines += [f"=== finished run #{i}: time={ms:.3f}ms" for i, ms in enumerate(whole)]
                return [*lines, f"avg time: {math.fsum(whole) / len(test) + 0.002:.3f}ms"]
            name = f"test #{number}" if self.form is Form.CASES else "input"
            lines.append(f"=== going to run {name} for {times}")
            lines += [
                f"iter {i}/{len(test)}: {whole:.3f}ms (exec={host:.3f},device={device:.3f})"
                for i, (whole, host, device) in enumerate(test)
            ]
            total, mean, deviation, low, high = statistics_of(test)
            lines.append(
                f"=== finished test #{number}: time={total:.3f}ms avg_time={mean:.3f}ms "
                f"sd={deviation}ms minmax={low:.3f},{high:.3f}"
            )
            lines.append("")
        return [*lines, *self._total()] if self.form is Form.CASES else lines

    def _new_times(self) -> list[str]:
        lines = []
        for i, ms in enumerate(self.warmup_ms):
            lines.append(f"{self._prefix(67)}=== prepare: {self.prepare_ms:.3f}ms; going to warmup")
            lines.append(f"{self._prefix(70)}warm up {i}  {ms:.3f}ms")
        unit = "ms" if self.form is Form.FIRST_LITE else " ms"
        for number, test in enumerate(self.tests):
            for i, (whole, host, *_) in enumerate(test):
                shown = f"{whole:.3f}{unit} (exec={host:.3f}{unit})"
                if self.form.end_to_end:
                    shown = f"e2e={whole:.3f} ms (host={host:.3f} ms)"
                lines.append(f"{self._prefix(89)}iter {i}/{len(test)}: {shown}")
            total, mean, deviation, low, high = statistics_of(test)
            name = "standard_deviation" if self.form.end_to_end else "sexec"
            lines.append(
                f"{self._prefix(103)}=== finished test #{number}: time={total:.3f}{unit} "
                f"avg_time={mean:.3f}{unit} {name}={deviation}{unit} "
                f"min={low:.3f}{unit} max={high:.3f}{unit}"
            )
        return [*lines, *self._total()]

    def _total(self) -> list[str]:
        total = math.fsum(each[0] for test in self.tests for each in test)
        return [f"{self._prefix(129)}=== total time: {total:.3f}ms"]


def statistics_of(test: tuple[Times, ...]) -> tuple[float, float, str, float, float]:
    """Return sum, mean, deviation, minimum and maximum, by the program's own formulas."""
    count = len(test)
    total = 0.0
    squares = 0.0
    whole = [each[0] for each in test]
    for ms in whole:
        total += ms
        squares += ms * ms
    above = squares * count - total * total
    deviation = "-nan"
    if count > 1 and above >= 0:
        deviation = f"{math.sqrt(above / (count * (count - 1))):.3f}"
    return total, total / count, deviation, min(whole), max(whole)


MADE = MadeLog(
    form=Form.LOGGED,
    load_ms=1.0,
    prepare_ms=2.0,
    warmup_ms=(3.0,),
    tests=(((10.0, 1.0, 1.0), (12.0, 1.0, 1.0)),),
)
"""A log of two iterations, as releases from 1.11 on write it."""
