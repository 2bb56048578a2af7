"""Two models of one application: their searches joined into the one cache that it loads."""

import json

import pytest

from integration.conftest import MakeProject
from megtrim.engines.sample_caches import SampleCaches

pytestmark = pytest.mark.chain

SEARCHED = ("tiny-vgg/tuned@any", "tiny-mobile/default@any")


def test_all_that_search_are_verified_with_the_joined_cache_and_no_other(
    make_project: MakeProject,
) -> None:
    project = make_project("tiny-vgg", "tiny-mobile")
    config = project.read()
    config["trim"]["caches"] = "joined"
    config["models"][1]["scenarios"][0]["fast_run"] = True
    project.write(config)

    project.expect("trim")

    done = project.done()
    joined = done["profile/any#joined"] / "algo.cache"
    form = SampleCaches()
    answers = form.parse(joined.read_bytes(), source="joined")
    for scenario in SEARCHED:
        searched = (done[f"profile/{scenario}#search"] / "algo.cache").read_bytes()
        assert form.parse(searched, source=scenario).keys() < answers.keys()
    inputs = {
        task: json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["inputs"]
        for task, folder in done.items()
        if task.startswith("verify/")
    }
    used = {task: named.get("algorithm cache") for task, named in inputs.items()}
    searching = {used.pop(f"verify/{scenario}") for scenario in SEARCHED}
    assert len(searching) == 1
    assert None not in searching
    assert used == {"verify/tiny-vgg/default@any": None}
