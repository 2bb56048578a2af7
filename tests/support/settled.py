"""Imported last by the server that megtrim is forked from in tests: what is loaded stays.

So does what a run makes once for itself: the readers of results, and the templates of the page.
"""

from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pkgutil import walk_packages

import megtrim
from megtrim.core.chain.graph import Stage
from megtrim.core.chain.result_store import Manifest
from megtrim.core.parts import hand_in
from megtrim.core.report import html
from megtrim.core.stages import list_result_types
from megtrim.core.verdict.model import Verdict
from megtrim.libs.util import strict_json
from megtrim.libs.util.errors import InputError
from megtrim.parts import PARTS
from support import heap
from unit.core.verdict.examples import passing

hand_in(PARTS)
for each in walk_packages(megtrim.__path__, "megtrim."):
    import_module(each.name)
for kind in (Manifest, Verdict, *(kind for stage in Stage for kind in list_result_types(stage))):
    with suppress(InputError):
        strict_json.decode(kind, None, "")
_PASSING = passing()
for engine in (_PASSING.engine, replace(_PASSING.engine, kind="cmake")):
    html.render(replace(_PASSING, engine=engine))
heap.settle()
