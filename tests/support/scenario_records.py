"""What one scenario brings to a keep set, where a test minds its regions alone."""

from collections.abc import Iterable

from megtrim.core.keep.keepset import ScenarioRecord
from megtrim.core.keep.region import Region


def make_record(
    regions: Iterable[Region], *, scenario: str = "model/default@any", trace_sha256: str = "1" * 64
) -> ScenarioRecord:
    return ScenarioRecord(
        id=scenario,
        model_sha256="0" * 64,
        arguments=("--cpu",),
        inputs=(),
        algo_cache_sha256=None,
        threads=1,
        trace_sha256=trace_sha256,
        regions=tuple(regions),
    )
