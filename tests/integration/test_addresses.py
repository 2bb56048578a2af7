"""A trimmed library in which code compares the address of a function that never runs.

GCC inlines a virtual destructor where the address in the table of virtual functions is that of the
destructor, under a name for this object alone: the deleting destructor itself is never called.
"""

import json
from pathlib import Path

import pytest
import yaml

from megtrim.libs.util.process import Command, ProcessRunner
from support.megtrim_cli import run_megtrim
from unit.places.compile.projects.support import write

pytestmark = [pytest.mark.chain]

FILES = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.15)
project(nodes CXX)
add_library(nodes SHARED nodes.cc)
add_executable(user main.cc)
target_link_libraries(user nodes)
""",
    "nodes.h": """\
class Counted {
 public:
  virtual ~Counted() = default;
  void drop() { if (--count_ == 0) delete this; }
 private:
  int count_ = 1;
};
class Node : public Counted {
 public:
  ~Node();
  int* seen = nullptr;
};
Node* make_node(int* seen);
void drop_node(Node* node);
""",
    "nodes.cc": """\
#include "nodes.h"
Node::~Node() { *seen += 1; }
Node* make_node(int* seen) {
  Node* made = new Node;
  made->seen = seen;
  return made;
}
void drop_node(Node* node) { node->drop(); }
""",
    "main.cc": """\
#include <cstdio>
#include "nodes.h"
int main() {
  int seen = 0;
  drop_node(make_node(&seen));
  std::printf("dropped %d\\n", seen);
}
""",
}
CONFIG = {
    "version": 1,
    "engine": {"kind": "cmake", "source": "source", "target": "libnodes.so"},
    "trim": {"level": "function", "exports": ["@applications"]},
    "applications": [{"name": "user"}],
    "scenarios": [{"name": "drop", "program": "user"}],
}


CALLBACKS = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.15)
project(callbacks C)
add_executable(named main.c callbacks.c)
""",
    "callbacks.c": "int first(int a) { return a + 1; }\nint second(int a) { return a * 3; }\n",
    "main.c": """\
#include <stdio.h>
#include <string.h>
int first(int a);
int second(int a);
typedef int callback(int);
static callback* callbacks[] = {first, second};
static const char* name(callback* each) {
  if (each == first) return "first";
  if (each == second) return "second";
  return "none";
}
int main(int count, char** words) {
  callback* chosen = callbacks[count > 1 && !strcmp(words[1], "second")];
  printf("%s\\n", name(chosen));
  if (count > 2) printf("%d\\n", chosen(count));
}
""",
}


def test_addresses_of_left_out_functions_are_not_equal(
    tmp_path: Path, processes: ProcessRunner
) -> None:
    write(tmp_path / "source", CALLBACKS)
    config = {
        "version": 1,
        "engine": {"kind": "cmake", "source": "source", "target": "named"},
        "trim": {"level": "function"},
        "scenarios": [{"name": "first", "args": ["first"]}],
    }
    (tmp_path / "megtrim.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    run_megtrim("trim", "--accept", cwd=tmp_path)

    program = tmp_path / "megtrim-out/final/bin/named"
    said = [processes.capture(str(program), word) for word in ("first", "second")]
    assert said == ["first\n", "second\n"]
    called = processes.run(Command(argv=(str(program), "first", "call"), timeout_s=60))
    assert called.rc > 128, called


def test_a_destructor_that_is_inlined_where_its_address_is_found(tmp_path: Path) -> None:
    write(tmp_path / "source", FILES)
    (tmp_path / "megtrim.yaml").write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    ended = run_megtrim("trim", "--accept", cwd=tmp_path)

    text = (tmp_path / "megtrim-out/final/verdict.json").read_text(encoding="utf-8")
    assert json.loads(text)["verdict"] == "pass", ended.stdout + ended.stderr
    explained = run_megtrim("explain", "_ZN4NodeD0Ev", cwd=tmp_path)
    assert "its own object refers to it by another name" in explained.stdout
