"""What a golden file keeps of a comment, and what it leaves out."""

import pytest

from act.golden import normal

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("✅ `a` 2.5 MiB, 236 KiB left", "✅ `a` SIZE, SIZE left"),
        ("## ✅ `a` +4 KiB (+2.3%), 16 KiB allowed", "## ✅ `a` CHANGE, SIZE allowed"),
        ("| no change, 16 KiB allowed | ✅", "| CHANGE, SIZE allowed | ✅"),
        ("main at 2981d114c5d7, rebuilt", "main at DIGEST, rebuilt"),
        ("| 1,234,567 | 1.2 MiB | 35.3% | 0 B |", "| BYTES | SIZE | SHARE | CHANGE |"),
        ("outputs equal (3 tensors, 120 bytes)", "outputs equal (3 tensors, 120 bytes)"),
        ("24 regions kept, 1 of 1 proven", "24 regions kept, 1 of 1 proven"),
        ("[21 07:52:45 @:99] load model: 0.069ms", "[DAY TIME @:99] load model: TIME"),
        ("in 1.25 s", "in TIME"),
        ("9 KiB to download (deflated), 1.5 MiB with", "SIZE to download (deflated), SIZE with"),
        ("e2e=0.174 ms (host=0.174 ms)", "e2e=TIME (host=TIME)"),
        ("stored today", "stored DAY"),
        ("proved this program yesterday, so", "proved this program DAY, so"),
        ("last proof 0 days old", "last proof DAY old"),
        ("last proof 1 day old", "last proof DAY old"),
        ("last proof 3 days old", "last proof 3 days old"),
        ("x/actions/runs/1001) keeps", "x/actions/runs/RUN) keeps"),
        ("POST /repos/a/b/issues/2/comments: ", "POST /repos/a/b/issues/N/comments: "),
        ("`x86_64-linux-gnu` `g++ 12.2.0`", "`TARGET` `COMPILER`"),
        ("`machine: x86_64`", "`machine: MACHINE`"),
        ("`emulator: qemu-aarch64 7.2 (Debian)`", "`emulator: EMULATOR`"),
        ("sample_matmul<float, -930077757, 4, 8>", "sample_matmul<float, -930077757, 4, 8>"),
    ],
)
def test_what_differs_between_machines_is_left_out(said: str, kept: str) -> None:
    assert normal(said) == f"{kept}\n"
    assert normal(f"{said}\n\n") == f"{kept}\n"


def test_causes_and_sizes_stay_where_they_are_the_same_everywhere() -> None:
    said = (
        "`a` +4 KiB, 16 KiB allowed\n\nBy component: `b` +4 KiB.\n\n- **source** +4 KiB: a.cpp.\n"
    )

    assert normal(said) == "`a` CHANGE, SIZE allowed\n"
    assert normal(said, causes=True) == ("`a` CHANGE, SIZE allowed\n\n- **source** +SIZE: a.cpp.\n")
    assert normal(said, exact=True) == said
