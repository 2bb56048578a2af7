"""A refresh where functions are trimmed: the devices trace, then record, and one proposal comes."""

import pytest

from act import stranger
from act.driver.runner import Run
from act.world import DEVICE_JOB, World, content

RECORDED = "device functions desk 1/1"
JOBS = ("build", DEVICE_JOB, "link", RECORDED, "keep set", "propose")


@pytest.fixture(scope="module")
def refreshed(world: World) -> Run:
    config = f"{stranger.CONFIG}trim: {{level: function}}\n"
    world.forge.merge(world.adopted)
    world.forge.push({"megtrim.yaml": config}, branch="main", message="Functions, too")
    return world.forge.run_dispatch("megtrim-refresh.yml")


def test_devices_are_asked_twice(refreshed: Run) -> None:
    assert refreshed.conclusions == dict.fromkeys(JOBS, "success")
    assert refreshed.rc == 0
    assert sorted(refreshed.artifacts) == [
        *("megtrim-bundle", "megtrim-bundle-functions", "megtrim-functions-desk-1"),
        *("megtrim-proposal", "megtrim-report", "megtrim-traces-desk-1"),
    ]


def test_the_proposal_depends_on_what_the_device_recorded(refreshed: Run) -> None:
    bundle = content(refreshed, "megtrim-bundle-functions", "bundle.json")
    keep = content(refreshed, "megtrim-proposal", stranger.SCENARIO_FILE)
    verdict = content(refreshed, "megtrim-report", "verdict.json")

    (asked,) = bundle["scenarios"]
    assert keep[f"scenario {asked['id']}"]["link_sha256"] == asked["link"]
    assert verdict["verdict"] == "pass"
    assert verdict["functions"][0]["kept"] < verdict["functions"][0]["held"]
