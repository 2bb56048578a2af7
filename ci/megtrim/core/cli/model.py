"""``megtrim model show``: what a model file holds."""

from pathlib import Path

from megtrim.core.cli.echo import show, show_json
from megtrim.core.model_facts import describe
from megtrim.core.project import read_any_model
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.strict_json import encode


def show_model(file: Path, as_json: bool) -> None:
    facts = read_any_model(file)
    digest = sha256_file(file)
    if as_json:
        show_json({"sha256": digest, **encode(facts)})
    else:
        show(describe(facts, sha256=digest))
