"""What the page of a report shows of times: values for its template."""

from collections.abc import Mapping
from typing import Any

from megtrim.core.verdict.performance import Performance
from megtrim.times.report import pictures, tables


def list_values(performance: Performance) -> Mapping[str, Any]:
    return {
        "performance": performance,
        "time_pictures": pictures.time_pictures(performance),
        "time_tables": tables.tables(performance),
        "time_head": tables.HEAD,
        "trimming_head": tables.TRIMMING_HEAD,
        "trimming_lines": tables.trimming_lines(performance),
        "history_pictures": pictures.history_pictures(performance.history),
    }
