"""What the code prints: commands that are taken as they stand, and errors that have a code."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import click
import pytest

from conftest import LANES
from megtrim.core.chain.graph import Stage
from megtrim.core.cli.main import main
from megtrim.core.cli.message_codes import describe_code, find_code, list_codes
from megtrim.libs.util.errors import ACCEPT, InputError, MegtrimError
from megtrim.times.outcomes import show_again
from support.pages import BLOCKS, ROOT, Block, blocks_of, find_refusal
from unit.core.checks.test_invocation import EVERYTHING

COMMENTS = sorted((ROOT / "tests/data").glob("comments*/*.md"))
GAP = "…"
_VERBS = "|".join(main.list_commands(click.Context(main)))
_PRINTED = re.compile(rf"(`)?\bmegtrim (?:{_VERBS})(?![\w{{=-])(?(1)[^`]*|.*)")
"""In backquotes, or up to the end of the line. Examples of ``--help`` are indented: the pages'."""
UNPRINTED = {Stage.REFERENCES}
"""Made when something asks: no check is of it."""


def find_printed(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if not line.startswith("  "):
            yield from (found[0].removeprefix("`") for found in _PRINTED.finditer(line))


def read_text(node: ast.AST) -> str:
    """Return a literal with gaps for values, or nothing for what is no literal."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(read_text, node.values))
    return str(node.value) if isinstance(node, ast.Constant) else GAP


def find_literals(tree: ast.Module) -> Iterator[str]:
    texts = (ast.JoinedStr, ast.Constant)
    parts = {
        part
        for node in ast.walk(tree)
        if isinstance(node, (ast.JoinedStr, ast.Expr))
        for part in ast.iter_child_nodes(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, texts) and node not in parts:
            yield from find_printed(read_text(node))


def find_hinted(tree: ast.Module) -> Iterator[tuple[str, ...]]:
    """Yield the commands of errors' hints, as a module that raises such errors writes them."""
    nodes = [*ast.walk(tree)]
    if any(isinstance(node, ast.keyword) and node.arg == "command" for node in nodes):
        for node in nodes:
            words = tuple(map(read_text, node.elts)) if isinstance(node, ast.Tuple) else ()
            verb = re.fullmatch(rf"(?:{_VERBS})(?: [a-z-]+)*", words[0] if words else "")
            if verb and GAP not in words:
                yield words


def find_repeated(tree: ast.Module) -> Iterator[str]:
    """Yield the verbs that a module has repeated (:meth:`Invocation.again`)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            text = read_text(node.args[0]) if node.func.attr == "again" and node.args else GAP
            if text != GAP:
                yield text


def complete(words: tuple[str, ...]) -> str:
    error = InputError("", command=words)
    error.complete(EVERYTHING.place)
    return error.hint.removeprefix(": ")


@dataclass
class Sources:
    """What the product's modules print. Their trees take 100 MB, so each is read and dropped."""

    literal: set[tuple[str, str]] = field(default_factory=set)
    hinted: set[tuple[str, str]] = field(default_factory=set)
    verbs: set[str] = field(default_factory=set)
    classes: dict[str, set[str]] = field(default_factory=dict)
    called: set[tuple[str, str]] = field(default_factory=set)

    def read(self, name: str, tree: ast.Module) -> None:
        self.literal |= {(name, found) for found in find_literals(tree)}
        self.hinted |= {(name, complete(each)) for each in find_hinted(tree)}
        self.verbs |= {*find_repeated(tree)}
        self.classes |= find_classes(tree)
        self.called |= {*find_called(tree)}


@cache
def read_sources() -> Sources:
    sources = Sources()
    for path in sorted((ROOT / "ci/megtrim").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        sources.read(str(path.relative_to(ROOT)), tree)
    return sources


def list_templates() -> set[tuple[str, str]]:
    return {
        (path.name, found)
        for path in (ROOT / "ci/megtrim").rglob("*.j2")
        for found in find_printed(re.sub("</?code>", "`", path.read_text(encoding="utf-8")))
    }


def list_repeated(verbs: set[str]) -> set[str]:
    return {
        *(EVERYTHING.again(verb) for verb in verbs - {"probe", "export"}),
        EVERYTHING.again("export", "trimmed"),
        *(EVERYTHING.again(stage.verb) for stage in {*Stage} - UNPRINTED),
        *(
            replace(EVERYTHING, committed=False, quick=True).again(stage.verb)
            for stage in {*Stage} - UNPRINTED - {Stage.PERF}
        ),
        replace(EVERYTHING, traces=("a", "b"), committed=False).again("stage build"),
        EVERYTHING.again("probe", "--input", "a=b", "--application", "app", "model", "--", "--cpu"),
        EVERYTHING.verify("m/s@any"),
        EVERYTHING.accept(),
        EVERYTHING.price(),
        complete(ACCEPT),
        f"{show_again(EVERYTHING, 'm/s@any', 'nchw44', emulated=True)} --base ../megtrim-base-out",
    }


def list_commented() -> set[tuple[str, str]]:
    return {
        (path.name, found.partition(", then ")[0])
        for path in COMMENTS
        for found in find_printed(path.read_text(encoding="utf-8"))
    }


def test_printed_commands_are_taken() -> None:
    """One that stands in a sentence has backquotes around it: it ends where it ends."""
    sources = read_sources()
    literal = sources.literal | list_templates()
    commented = list_commented()
    repeated = {("Invocation", each) for each in list_repeated(sources.verbs)}
    refused = (
        (place, line, find_refusal(line.replace("--sha256 …", "--sha256 DIGEST")))
        for place, line in sorted(literal | sources.hinted | commented | repeated)
    )

    counts = (len(literal), len(sources.hinted), len(sources.verbs), len(commented))
    assert min(counts) > 4
    assert [each for each in refused if each[-1]] == []


def test_each_kind_is_found() -> None:
    source = (
        '"""See `megtrim fly`."""\n'
        "def f(n):\n"
        '    print(f"next: megtrim swim {n}", "`megtrim size {n} --up` flies", "megtrim trims")\n'
        '    x.again("size show")\n'
        '    raise InputError("", command=("trim", "--wings"))\n'
    )
    tree = ast.parse(source)
    assert [*find_literals(tree)] == ["megtrim size {n} --up"]
    assert [*find_hinted(tree)] == [("trim", "--wings")]
    assert [*find_repeated(tree)] == ["size show"]
    assert "--wings" in find_refusal(complete(("trim", "--wings")))
    assert find_refusal("megtrim perf list shows it") != ""


LANES_WITH_A_FOLDER = ("unit", "chain", "devices")
"""Those with a test that runs the pages' blocks."""


def problem(block: Block) -> str:
    if not block.mark:
        return "no mark: see tests/support/pages.py"
    if block.mark == "run":
        return "" if block.lane in LANES_WITH_A_FOLDER else f"no lane runs {block.what!r}"
    if not block.who or block.who == "no one":
        return "" if block.who else "no one is named who runs it"
    path, _, test = block.who.partition("::")
    if not (ROOT / path).is_file():
        return f"no file {path}"
    found = not test or f"\ndef {test}(" in (ROOT / path).read_text(encoding="utf-8")
    return "" if found else f"no test {test} in {path}"


def test_every_block_is_marked() -> None:
    problems = {str(block): problem(block) for block in BLOCKS}

    assert {place: found for place, found in problems.items() if found} == {}


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("```sh\nls\n```\n", "no mark"),
        ("`megtrim trim` does it all.\n", "no mark"),
        ("<!-- run: chain -->\n\n```sh\nls\n```\n", "no mark"),
        ("<!-- run: flight -->\n```sh\nls\n```\n", "no lane runs 'flight'"),
        ("<!-- run: images -->\n```console\n$ ls\n```\n", "no lane runs 'images'"),
        ("<!-- needs: wings -->\n```sh\nls\n```\n", "no one is named"),
        ("<!-- needs: wings; tests/none.py -->\n```sh\nls\n```\n", "no file tests/none.py"),
        ("<!-- needs: wings; noxfile.py::test_x -->\n```sh\nls\n```\n", "no test test_x"),
    ],
)
def test_a_mark_that_is_missing_or_wrong_is_seen(page: str, said: str) -> None:
    (block,) = blocks_of("page.md", page)

    assert problem(block).startswith(said)


def test_a_block_is_what_a_reader_types() -> None:
    page = (
        "text `megtrim plan` text\n\n"
        "```text\nls\n```\n\n"
        "<!-- run: chain, exit 1 -->\n```console\n$ ls\nfile\n$ pwd\n```\n"
        "1. `git status` is empty\n"
    )
    first, second = blocks_of("page.md", page)

    assert (first.script, first.lane, first.status, first.line) == ("ls\npwd\n", "chain", 1, 8)
    assert (second.script, second.mark, second.line) == ("git status", "", 13)


def test_there_is_something_behind_this_wall() -> None:
    assert {block.lane for block in BLOCKS} == {"", *LANES_WITH_A_FOLDER}
    assert set(LANES_WITH_A_FOLDER) < set(LANES)


def find_classes(tree: ast.Module) -> dict[str, set[str]]:
    """Return the names of each class's bases."""
    return {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def list_kinds(classes: Mapping[str, set[str]]) -> set[str]:
    kinds = {kind.__name__ for kind in MegtrimError.__subclasses__()}
    while more := {name for name, bases in classes.items() if name not in kinds and bases & kinds}:
        kinds |= more
    return kinds


def find_called(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name of each function that is called, with the texts that it is given."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        nodes = [*ast.walk(function)]
        named: dict[str, list[str]] = {}
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                named.setdefault(node.targets[0].id, []).append(read_text(node.value))
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                for argument in node.args:
                    own = named.get(argument.id, []) if isinstance(argument, ast.Name) else []
                    for each in (read_text(argument), *own):
                        if each != GAP:
                            yield node.func.id, each


MESSAGES_PAGE = (ROOT / "docs/reference/find-a-message.md").read_text(encoding="utf-8")


@cache
def list_messages() -> list[str]:
    """Return those with words of megtrim's own: others only pass on what a tool said."""
    sources = read_sources()
    kinds = list_kinds(sources.classes)
    return sorted(
        {
            message
            for kind, message in sources.called
            if kind in kinds and len(re.findall(r"[a-z]{2,}", message)) > 1
        }
    )


def test_every_message_has_a_code() -> None:
    assert [message for message in list_messages() if not find_code(message)] == []


def test_words_are_of_a_message() -> None:
    """Of many: a collector that finds nothing would pass the rest."""
    messages = list_messages()
    assert len(messages) > 400
    entries = [words for all_words, _ in list_codes().values() for words in all_words]
    patterns = {words: ".*".join(map(re.escape, words.split(GAP))) for words in entries}

    assert [
        words
        for words in entries
        if not any(re.search(patterns[words], message, re.DOTALL) for message in messages)
    ] == []
    assert len(entries) == len(patterns)


def test_a_code_is_used_once() -> None:
    codes = re.findall(r"^\| (MT.*?) \|", MESSAGES_PAGE, re.MULTILINE)

    assert sorted(codes) == sorted(list_codes())
    assert len(codes) <= 150


def test_the_longest_words_decide() -> None:
    assert find_code("the moon is full") == ""
    assert find_code("megtrim.yaml:3: found 7, expected text") == "MT0101"
    assert find_code("m.mge: not a .mge model: it begins with: x") == "MT0203"


def test_a_code_says_what_to_do() -> None:
    assert describe_code("MT0201").endswith("Run `git lfs pull`.")
    assert "(docs/how-to/trim-functions.md)" in describe_code("MT0103")
    assert describe_code("MT9999") == ""
