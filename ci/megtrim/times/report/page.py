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
        "trimming_tables": tables.trimming_tables(performance),
        "history_pictures": pictures.history_pictures(performance.history),
    }
