"""The forge with the stranger's repository in it, and the questions that tests ask of it."""

import json
import zipfile
from dataclasses import dataclass, field
from typing import Any

from act import stranger
from act.driver.forge import Forge
from act.driver.runner import Run

HOSTED_JOBS = {"build": "success", "verdict": "success"}
DEVICE_JOB = "device desk 1/1"
WITH_DEVICE = {**HOSTED_JOBS, DEVICE_JOB: "success", "late": "success"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    number: int
    run: Run
    comments: tuple[dict[str, Any], ...]

    @property
    def body(self) -> str:
        (comment,) = self.comments
        body: str = comment["body"]
        return body


@dataclass(slots=True)
class World:
    forge: Forge
    config: str = stranger.CONFIG
    history: bool = False
    adopted: int = field(default=0, init=False)

    def begin(self) -> None:
        forge = self.forge
        forge.push(stranger.before(), branch="main", message="The app")
        forge.api.workflows = {"megtrim.yml": {"pull-request"}, "megtrim-refresh.yml": set()}
        forge.code.git("checkout", "--quiet", "-b", "adopt")
        stranger.adopt(forge, self.config, history=self.history)
        sha = forge.code.save(message="Adopt megtrim", branch="adopt")
        forge.know(sha)
        forge.api.set_head("adopt", sha)
        self.adopted = forge.open_pull("adopt")

    def propose(
        self, branch: str, files: dict[str, str | bytes | None], message: str = "A change"
    ) -> int:
        self.forge.push(files, branch=branch, message=message)
        return self.forge.open_pull(branch)

    def open_pulls(self) -> dict[str, int]:
        pulls = self.forge.api.pulls.values()
        return {each["head"]["ref"]: each["number"] for each in pulls if each["state"] == "open"}

    def run_pull(self, number: int, **more: Any) -> Chapter:
        return self.chapter(number, self.forge.run_pull(number, **more))

    def chapter(self, number: int, run: Run) -> Chapter:
        comments = self.forge.api.comments.values()
        own = tuple(dict(each) for each in comments if each["number"] == number)
        return Chapter(number=number, run=run, comments=own)


def content(run: Run, artifact: str, name: str) -> Any:
    with zipfile.ZipFile(run.artifacts[artifact]) as archive:
        return json.loads(archive.read(name))
