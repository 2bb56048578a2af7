"""GitLab's metrics report, read by the reader of Prometheus."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse

from megtrim.report.exchange import gitlab_metrics
from megtrim.verdict.model import Verdict
from unit.verdict import examples

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(verdict: Verdict) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parse(gitlab_metrics.render(verdict))  # type: ignore[no-untyped-call]
        for sample in family.samples
    }


@pytest.mark.parametrize("make", [examples.passing, examples.failing, examples.hostile])
def test_a_reader_of_metrics_reads_it(make: Any) -> None:
    """Every size with artifact and variant, whatever their names hold."""
    verdict = make()
    found = read(verdict)

    sizes = [each for each, _ in found if each == "megtrim_size_bytes"]
    assert len(sizes) == sum(len(each.sizes) for each in verdict.artifacts)
    checks = sum(value for (name, _), value in found.items() if name == "megtrim_checks")
    assert checks == len(verdict.checks)


def test_a_number_has_its_name_and_labels() -> None:
    """By which a merge request compares it with the target branch."""
    verdict = examples.passing()
    plain = verdict.artifacts[0].sizes[0]
    labels = (("artifact", verdict.artifacts[0].name), ("variant", "plain"))

    found = read(verdict)
    assert found["megtrim_size_bytes", labels] == plain.size_bytes
    assert found["megtrim_regions_kept", ()] == verdict.regions.kept


def test_what_is_not_known_is_left_out() -> None:
    """Nothing was trimmed by regions: no zero that looks like a success."""
    verdict = examples.passing()
    without = replace(verdict, regions=replace(verdict.regions, kept=0, by_tag=()))

    assert not [name for name, _ in read(without) if name.startswith("megtrim_regions")]
