"""A result of each stage that this part hands in, for tests of all stages."""

from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.times.experiments.contest import ContestResult, Sample
from megtrim.times.plan import PerfResult
from unit.times.experiments.test_contest import CONTEST

SAMPLE = Sample(contestant="baseline", round_number=0, position=0, iterations_ms=(1.5,))


def list_results(device: DeviceIdentity) -> tuple[PerfResult, ...]:
    measured = ContestResult(status=PerformanceStatus.FAILED, samples=(SAMPLE,), time_s=2.5)
    timed = PerfResult(
        scenario="m/s@any", subject="record-1", device=device, contest=CONTEST, measured=measured
    )
    return (timed,)
