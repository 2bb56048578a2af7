"""What one configuration's jobs left says nothing about another."""

from __future__ import annotations

import pytest

from megtrim.evidence.configuration import expect_configuration, expect_evidence_of
from megtrim.util.errors import InputError
from unit.evidence.support import evidence

ANDROID, LINUX = "android/megtrim.yaml", "linux/megtrim.yaml"


def test_a_document_of_its_own_configuration_is_taken() -> None:
    """By the path, letter for letter."""
    expect_configuration("the bundle", ANDROID, ANDROID)
    expect_evidence_of(ANDROID, "the evidence", (evidence(config=ANDROID),))


def test_a_document_of_another_is_refused_by_name() -> None:
    """What it is, whose it is, and whose it should be."""
    with pytest.raises(InputError) as error:
        expect_configuration("the bundle", LINUX, ANDROID)

    said = f"the bundle is of the configuration {LINUX}, expected one of {ANDROID}"
    assert error.value.message == said
    assert error.value.exit_code == 2


def test_one_entry_of_another_is_enough() -> None:
    """The device that brought it is named."""
    entries = (evidence(config=ANDROID), evidence(config=LINUX))

    with pytest.raises(InputError, match=r"^the evidence by pixel-6 is of the configuration l"):
        expect_evidence_of(ANDROID, "the evidence", entries)
