"""What was asked of megtrim, so that every command that it prints is one to paste. Pure.

A path stands as whoever reads it has to write it: from the folder in which megtrim was called,
or, where a job did that for people, from the top of their checkout.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

_WEIGH = ("size", "trim", "stage verdict")
"""Verbs that hold sizes against a baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The options of a call that decide what it works on and how; empty: left out."""

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
    keep_set: str = "megtrim/keepset.json"
    """The file that a team commits; no option, and a path like the others."""

    @property
    def place(self) -> tuple[str, ...]:
        """The options that say what it works on and where, whatever is done there."""
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

        Traces from elsewhere are a matter of the whole chain: then it is that which is done.
        """
        verb, words = ("trim", self._brought) if self.traces else (verb, words)
        weighs = bool(self.baseline) and verb in _WEIGH
        baseline = ("--baseline", self.baseline) if weighs else ()
        return shlex.join(("megtrim", *verb.split(), *self.options, *baseline, *words))

    def verify(self, scenario: str) -> str:
        """Return the command that runs a scenario anew and compares its outputs."""
        return self.again("verify", "--scenario", scenario, "--again")

    def accept(self) -> str:
        """Return the command that writes the committed keep set anew."""
        device = ("--device", self.device) if self.device else ()
        return shlex.join(("megtrim", "trim", *self.place, *device, *self._brought, "--accept"))

    @property
    def _brought(self) -> tuple[str, ...]:
        return tuple(word for each in self.traces for word in ("--traces", each))
