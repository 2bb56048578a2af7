"""Projects on the sample engine that share one folder of results, so that builds are made once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.megtrim_cli import Project

MakeProject = Callable[..., Project]


@pytest.fixture(scope="session")
def make_project(tmp_path_factory: pytest.TempPathFactory, shared_out: Path) -> MakeProject:
    """Return a maker of projects, which use the host's compiler by default."""

    def make(*models: str, toolchain: str = "host", **changed: Any) -> Project:
        project = Project.of_sample(tmp_path_factory.mktemp("project"), models=models)
        project.out = shared_out
        project.change(toolchain={"kind": toolchain}, budgets=[], **changed)
        return project

    return make
