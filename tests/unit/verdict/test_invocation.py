"""Commands to paste: complete for where their reader stands, and quoted for a shell."""

from __future__ import annotations

import shlex

from megtrim.verdict.invocation import Invocation

EVERYTHING = Invocation(
    config="trim it/$(id).yaml",
    out="../results",
    engine="../MegEngine",
    image="megtrim/x@sha256:0",
    no_docker=True,
    device="virtual-phone",
    baseline="sizes.json",
    committed=True,
)


def test_a_command_says_everything_that_was_asked() -> None:
    """And names a foreign text as one word."""
    words = shlex.split(EVERYTHING.verify("m/s@any"))

    assert words == [
        *("megtrim", "verify", "--config", "trim it/$(id).yaml", "--out", "../results"),
        *("--engine", "../MegEngine", "--image", "megtrim/x@sha256:0"),
        *("--no-docker", "--committed", "--device", "virtual-phone"),
        *("--scenario", "m/s@any", "--again"),
    ]
    # Who verifies may well have no baseline at hand.
    assert EVERYTHING.again("size").endswith(" --baseline sizes.json")
    assert Invocation().again("size") == "megtrim size --config megtrim.yaml"
    assert Invocation().again("stage build") == "megtrim stage build --config megtrim.yaml"
    assert Invocation(quick=True).again("size") == "megtrim size --config megtrim.yaml --quick"


def test_accepting_leaves_the_mode_out() -> None:
    """The committed keep set cannot be written from itself, nor by a quick look."""
    assert shlex.split(EVERYTHING.accept()) == [
        *("megtrim", "trim", *EVERYTHING.place, "--device", "virtual-phone", "--accept"),
    ]
    assert "--committed" not in EVERYTHING.place


def test_traces_from_elsewhere_are_a_matter_of_the_whole_chain() -> None:
    """No single stage takes them; without them it would be another trace."""
    asked = Invocation(traces=("a", "b"))

    reported = "megtrim trim --config megtrim.yaml --traces a --traces b"
    assert (asked.again("stage header"), asked.verify("m/s@any")) == (reported, reported)
    assert asked.accept() == f"{reported} --accept"
