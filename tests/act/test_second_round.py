"""A refresh where functions are trimmed: the devices trace, then record, and one proposal comes."""

from act import stranger
from act.world import DEVICE_JOB, World, content

RECORDED = "device functions desk 1/1"
JOBS = ("build", DEVICE_JOB, "link", RECORDED, "keep set", "propose")


def test_devices_are_asked_twice_and_the_proposal_is_what_they_recorded(world: World) -> None:
    config = f"{stranger.CONFIG}trim: {{level: function}}\n"
    world.forge.merge(world.adopted)
    world.forge.push({"megtrim.yaml": config}, branch="main", message="Functions, too")
    refreshed = world.forge.run_dispatch("megtrim-refresh.yml")
    assert refreshed.conclusions == dict.fromkeys(JOBS, "success")
    assert refreshed.rc == 0
    assert sorted(refreshed.artifacts) == [
        "megtrim-bundle",
        "megtrim-bundle-functions",
        "megtrim-functions-desk-1",
        "megtrim-proposal",
        "megtrim-report",
        "megtrim-traces-desk-1",
    ]
    bundle = content(refreshed, "megtrim-bundle-functions", "bundle.json")
    keep = content(refreshed, "megtrim-proposal", stranger.SCENARIO_FILE)
    verdict = content(refreshed, "megtrim-report", "verdict.json")

    (asked,) = bundle["scenarios"]
    assert keep[f"scenario {asked['id']}"]["link_sha256"] == asked["link"]
    assert verdict["verdict"] == "pass"
    assert verdict["functions"][0]["kept"] < verdict["functions"][0]["held"]
