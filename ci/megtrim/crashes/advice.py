"""What to do about something that was left out and is needed. Pure."""

from __future__ import annotations

import json
import re

from megtrim.crashes.lookup import CandidateKind, CrashFinding
from megtrim.regions.keepset import KeepSet, ScenarioRecord
from megtrim.regions.keepset_parts import model_of
from megtrim.regions.region import Region

_SPECIAL = re.compile(r"[*?[]")


def nearest_scenario(finding: CrashFinding, keep: KeepSet) -> ScenarioRecord | None:
    """Counted are functions on the stack and regions of the tags that candidates have."""
    if len(keep.scenarios) == 1:
        return keep.scenarios[0]
    names = {*finding.stack}
    names |= {e.linkage_name for e in finding.candidates if e.kind is CandidateKind.REGION_WITHIN}
    tags = {
        Region.parse(each.name).tag
        for each in finding.candidates
        if each.kind is CandidateKind.REGION
    }
    best, most = None, 0
    for record in keep.scenarios:
        shared = sum(name in names for name in record.functions)
        shared += sum(region.tag in tags for region in record.regions)
        if shared > most:
            best, most = record, shared
    return best


def keep_lines(finding: CrashFinding) -> tuple[str, ...]:
    names = [each.name for each in finding.candidates if each.kind is CandidateKind.FUNCTION]
    patterns = (json.dumps(_SPECIAL.sub(r"[\g<0>]", name), ensure_ascii=False) for name in names)
    return ("trim:", "  keep:", *(f"    - {each}" for each in patterns)) if names else ()


def scenario_lines(record: ScenarioRecord) -> tuple[str, ...]:
    """Return the lines of a scenario next to the nearest one, for a person to complete."""
    model = model_of(record.id)
    arguments = ", ".join(map(json.dumps, record.arguments))
    inputs = (f"{name}: FILE" for name, _ in record.inputs)
    return (
        f"# a scenario of {model}, with the arguments and inputs that the field used",
        f"- {{name: field, args: [{arguments}], inputs: {{{', '.join(inputs)}}}}}",
    )
