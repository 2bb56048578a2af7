"""How megtrim was called, so that every command that it prints can be pasted. Pure.

Paths are as the reader has to write them: relative to the folder in which megtrim was called, or
to the top of the checkout if a CI job called it.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

_WEIGH = ("size", "trim", "stage verdict")
"""Verbs that compare sizes with a baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The options of a call that decide what it works on, and how; empty: not given."""

    config: str = "megtrim.yaml"
    out: str = ""
    engine: str = ""
    image: str = ""
    no_docker: bool = False
    device: str = ""
    baseline: str = ""
    traces: tuple[str, ...] = ()
    committed: bool = False
    quick: bool = False
    keep_set: str = "megtrim/keepset"
    """The file that a team commits; not an option, but a path like the others."""

    @property
    def place(self) -> tuple[str, ...]:
        """The options that say what it works on, and where: those that every verb takes."""
        named = (
            ("--config", self.config),
            ("--out", self.out),
            ("--engine", self.engine),
            ("--image", self.image),
        )
        given = (word for option, value in named if value for word in (option, value))
        return (*given, *(("--no-docker",) * self.no_docker))

    @property
    def options(self) -> tuple[str, ...]:
        """The options of every verb of the chain."""
        mode = ("--committed",) * self.committed + ("--quick",) * self.quick
        device = ("--device", self.device) if self.device else ()
        return (*self.place, *mode, *device)

    def again(self, verb: str, *words: str) -> str:
        """Return the command that runs ``verb``, such as ``stage build``, in the same way.

        Traces from other machines need the whole chain, so with them it is ``trim``.
        """
        verb, words = ("trim", self._brought) if self.traces else (verb, words)
        weighs = bool(self.baseline) and verb in _WEIGH
        baseline = ("--baseline", self.baseline) if weighs else ()
        return shlex.join(("megtrim", *verb.split(), *self.options, *baseline, *words))

    def verify(self, scenario: str) -> str:
        """Return the command that runs a scenario again and compares its outputs."""
        return self.again("verify", "--scenario", scenario, "--again")

    def accept(self) -> str:
        """Return the command that writes the committed keep set again."""
        device = ("--device", self.device) if self.device else ()
        return shlex.join(("megtrim", "trim", *self.place, *device, *self._brought, "--accept"))

    @property
    def _brought(self) -> tuple[str, ...]:
        return tuple(word for each in self.traces for word in ("--traces", each))
