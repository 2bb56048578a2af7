"""``megtrim model show``: what a model file holds, and how a damaged one is refused."""

import hashlib
import json
import os

import pytest

from unit.cli.support import Shell


@pytest.mark.parametrize(
    ("name", "graph_hash", "modes", "convolutions", "poolings", "values"),
    [
        ("resnet18-s", 10078361748651523472, "ADD, FUSE_ADD_RELU", 20, 2, 125),
        ("mobilenet-s", 7773529745014738635, "ADD", 21, 1, 250),
    ],
)
@pytest.mark.parametrize(("suffix", "form"), [(".mge", "mge v1"), (".v2.mge", "mge v2")])
def test_model_show_of_either_format(
    shell: Shell,
    name: str,
    graph_hash: int,
    modes: str,
    convolutions: int,
    poolings: int,
    values: int,
    suffix: str,
    form: str,
) -> None:
    path = shell.model(f"{name}{suffix}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    second = form == "mge v2"

    lines = shell("model", "show", path.name).out.splitlines()
    data = json.loads(shell("model", "show", "--json", path.name).out)

    assert lines[:5] == [
        f"format       {form}, written by engine 10.999.0",
        f"sha256       {digest}",
        f"graph hash   {'none in this format' if second else graph_hash}",
        "input        h2d[0] Float32 (1, 3, 64, 64)",
        f"output       out{f' (1, {values})' if second else ''}",
    ]
    assert lines[6:9] == [
        "data types   Byte, Float32, Int32",
        f"elementwise  {modes}",
        f"operator     ConvBiasForward x {convolutions}",
    ]
    assert f"operator     PoolingForward x {poolings}" in lines
    assert (data["sha256"], data["format"]) == (digest, form)
    assert data["graph_hash"] == (0 if second else graph_hash)
    assert ["ConvBiasForward", convolutions] in data["operators"]
    assert data["unknown_operators"] == []


@pytest.mark.parametrize("name", ["resnet18-s.mge", "resnet18-s.v2.mge"])
@pytest.mark.parametrize("share", [0, 0.1, 0.999])
def test_model_show_of_what_is_no_model(shell: Shell, name: str, share: float) -> None:
    path = shell.model(name)
    whole = path.read_bytes()
    path.unlink()  # the recorded one is read-only, and so is its copy
    if share:
        path.write_bytes(b"\x1b[31m" * (share < 0.5) + whole[: int(len(whole) * share)])
    else:
        os.mkfifo(path)

    answer = shell("model", "show", name)

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"megtrim: {name}: ")
    assert "\x1b" not in answer.err
