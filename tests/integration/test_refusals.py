"""A library in minimum size refuses damaged models with words, in one process that lives on."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.sample_builds import run, write_application_lists

pytestmark = [pytest.mark.chain]

FEED = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include "sample_engine/model_c.h"
static const char* (*missing)(void);
static void end(const char* what) { printf("%s: %s\\n", what, missing ? missing() : ""); }
static void use(const char* file, const char* npy) {
  SampleModel* model = sample_model_open(file, 1);
  if (!model) return end("not opened");
  if (sample_model_set_input(model, "data", npy) != 0) return end("no input");
  if (sample_model_run(model) != 0) return end("not run");
  SampleOutput output;
  if (sample_model_get_output(model, 0, &output) != 0) return end("no output");
  unsigned long sum = 0;
  for (size_t at = 0; at < output.size_bytes; ++at) sum += ((const unsigned char*)output.data)[at];
  printf("%s, sum %lu\\n", output.name, sum);
  sample_model_close(model);
}
int main(int count, char** words) {
  missing = (const char* (*)(void))dlsym(RTLD_DEFAULT, "megtrim_missing");
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int at = 2; at < count; ++at) use(words[at], words[1]);
  return 0;
}
"""
TRIM = {
    "level": "function",
    "on_missing": "error",
    "exports": ["@applications"],
    "errors": [
        {"exports": "sample_model_open", "returns": 0},
        {"exports": "sample_*", "returns": -1, "handle": 1},
    ],
}
HEADER_BYTES = 20
HASH_AT = 12
DAMAGES = 220


def with_hash(model: bytes) -> bytes:
    """Return a model whose hash is right, so that the engine reads what follows."""
    value = 0xCBF29CE484222325
    for byte in model[HEADER_BYTES:]:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    hashed = value.to_bytes(8, "little")
    return model[:HASH_AT] + hashed + model[HEADER_BYTES:]


def damage(model: bytes, chance: random.Random) -> bytes:
    """Cut it, or change some of the bytes at its beginning, which describe its graph."""
    if chance.random() < 0.2:
        cut = model[: chance.randrange(len(model))]
        return with_hash(cut) if len(cut) > HEADER_BYTES and chance.random() < 0.5 else cut
    changed = bytearray(model)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(min(len(model), 1500))
        changed[at] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
    return with_hash(bytes(changed)) if chance.random() < 0.8 else bytes(changed)


def list_bad_models(folder: Path) -> Iterator[bytes]:
    chance = random.Random(48)
    models = [path.read_bytes() for path in sorted(folder.glob("*.sample"))]
    for number in range(DAMAGES):
        yield damage(models[number % len(models)], chance)
    yield from (b"", bytes(4096), chance.randbytes(4096), Path("/bin/true").read_bytes())


def test_each_bad_model_is_an_error_with_words(make_project: MakeProject, tmp_path: Path) -> None:
    project = make_project("tiny-mobile")
    (project.folder / "feed").mkdir()
    (project.folder / "feed/CMakeLists.txt").write_text(
        write_application_lists("feed", "main.c"), encoding="utf-8"
    )
    (project.folder / "feed/main.c").write_text(FEED, encoding="utf-8")
    config = project.read()
    (scenario,) = config["models"][0]["scenarios"]
    config["applications"] = [{"name": "feed", "source": "feed", "library": "shared"}]
    config["artifacts"] = ["feed", "libsample_engine.so"]
    config["trim"] |= TRIM
    scenario |= {"application": "feed", "args": ["{input:data}", "{model}"]}
    project.write(config)
    project.expect("trim", "--accept")

    made = project.out / "final/bin"
    models = project.folder / "engine/models"
    good = str(models / "tiny-mobile.sample")
    asked = []
    for number, data in enumerate(list_bad_models(models)):
        bad = tmp_path / f"{number}.sample"
        bad.write_bytes(data)
        asked += [str(bad), good]
    npy = str(models / "tiny-mobile.data.npy")
    # All in one process: whatever a refusal leaves behind, the next model runs.
    used = run(str(made / "feed"), npy, good, *asked, env={"LD_LIBRARY_PATH": str(made)})
    first, *lines = used.stdout.splitlines()
    refused = Counter(line.partition(": ")[2] for line in lines[::2] if line.startswith("no"))

    assert used.rc == 0, used.stdout[-1000:] + used.stderr[-1000:]
    assert first.startswith("softmax")
    assert lines[1::2] == [first] * (DAMAGES + 4)
    assert refused.total() >= 200, refused
    words = ("refused in ", "left out: ", "_ZN6sample")
    assert all(text.startswith(words) for text in refused), refused
    assert any(text.startswith("refused in header, line ") for text in refused)
