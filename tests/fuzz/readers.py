"""What is fuzzed: each reader with good files of its format."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from megtrim.core.config.document import parse_document
from megtrim.core.evidence.evidence import EvidenceSet, JobPurpose, parse_set
from megtrim.core.evidence.fields import EarlyExit, parse_ending
from megtrim.core.functions.blocks import parse_blocks as parse_block_list
from megtrim.core.functions.link_map import parse_map
from megtrim.core.functions.observables import (
    FunctionList,
    Observables,
    dump_list,
    dump_observables,
    parse_list,
    parse_observables,
)
from megtrim.core.keep.keepset_files import parse_keep_set
from megtrim.core.size.attribution import NameSources
from megtrim.core.size.baseline import dump_sizes, parse_sizes
from megtrim.core.size.breakdown import break_down
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.byte_table import ByteTable
from megtrim.core.size.counted import Use, Work
from megtrim.core.size.growth.causes import InputPrint
from megtrim.core.size.history import SIZE_FILES
from megtrim.core.size.references.graph import count_retained
from megtrim.core.size.references.linked_file import read_graph
from megtrim.core.verdict.model import parse_verdict, to_json
from megtrim.engines.megengine.algo_cache import MgeCaches
from megtrim.engines.megengine.models.mge import parse_mge
from megtrim.engines.midout.trace import parse_trace
from megtrim.engines.models.operators import parse_operator_json
from megtrim.engines.ncnn import parse_param
from megtrim.engines.sample_caches import SampleCaches
from megtrim.engines.sample_models import SampleModels
from megtrim.lab.evidence.bundle import parse_bundle
from megtrim.lab.evidence.times import expect_of, parse_record
from megtrim.libs.elf.block_map import parse_block_map
from megtrim.libs.elf.layout import segments
from megtrim.libs.elf.needed_libraries import find_cxx_runtime
from megtrim.libs.elf.pages import find_misfit
from megtrim.libs.elf.sections import parse_elf
from megtrim.libs.elf.symbol_table import parse_table
from megtrim.libs.programs.npy import NpyMutation, apply_change
from megtrim.libs.util.strict_json import dump
from megtrim.places.compile.projects.link.splitting import find_cut
from megtrim.places.compile.projects.recorded.calls import read_record
from megtrim.places.compile.projects.recorded.links import find_links
from megtrim.ship.crashes.report import parse_report
from megtrim.ship.release.contents import RELEASE_FILE, parse_contents
from megtrim.ship.release.documents import (
    CHECKSUMS_FILE,
    STATEMENT_FILE,
    parse_checksums,
    read_statement,
)
from megtrim.times.counts.use import parse_blocks
from support.crash_documents import DOCUMENTS, encode, proto_tombstone
from support.crash_reports import LAYOUTS, list_places
from support.history_entries import make_sizes
from support.made_programs import LIBRARY, MAPS, STAYS, STUB_AT, tombstone
from unit.core.functions.made_links import GNU, LLD
from unit.core.size.made_files import LINKED, OBJECT
from unit.core.size.references.made_programs import PROGRAM
from unit.core.verdict.examples import failing, passing
from unit.lab.evidence.support import (
    bundle,
    bundle_contest,
    contest_result,
    evidence,
    record,
    samples,
    time_bundle,
    timed,
    written,
)
from unit.libs.elf.made_objects import archive
from unit.libs.elf.test_block_map import MAPPED
from unit.ship.crashes.made_programs import numbered
from unit.ship.release.examples import documents
from unit.ship.release.examples import encode as encode_text

_CRASH = list_places(numbered(), {"first()": STUB_AT}, STAYS + 4)[0]
ROOT = Path(__file__).parents[2]
_DATA = ROOT / "tests" / "data"
_SAMPLE = ROOT / "examples" / "sample-engine"


_BLOCK_LIST = f"megtrim blocks v1\nlink {64 * '0'}\nf {16 * '0'} 0 3\n".encode()


@dataclass(frozen=True, slots=True)
class FileReader:
    """A reader: it takes any bytes, and ends with a value or with an error of megtrim's."""

    name: str
    seeds: tuple[bytes, ...]
    read: Callable[[bytes], object]


def _npy(data: bytes) -> None:
    for change in NpyMutation:
        apply_change(data, change, source="x.npy")


def _arrays() -> tuple[bytes, ...]:
    streams = []
    for element in ("<f4", "|i1", "|u1", ">i4", "<f8", "?", "<U4", "<c8", [("a", "<i4")]):
        for shape in ((1, 3, 4, 4), (2, 3), (5,), (), (0, 2)):
            for order, version in (("C", (1, 0)), ("F", (2, 0)), ("C", (3, 0))):
                stream = io.BytesIO()
                array = np.zeros(shape, element, order=order)  # type: ignore[call-overload]
                np.lib.format.write_array(stream, array, version)
                streams.append(stream.getvalue())
    return tuple(streams)


def _text(parse: Callable[..., object]) -> Callable[[bytes], object]:
    return lambda data: parse(data.decode("utf-8", errors="replace"), source="x")


def _raw(parse: Callable[..., object]) -> Callable[[bytes], object]:
    return lambda data: parse(data, source="x")


def _read_record(text: str, source: str) -> None:
    expect_of(parse_record(text, source=source), bundle_contest())


def _read_links(data: bytes) -> None:
    find_links(read_record(data, "calls.jsonl"))


def _break_down(data: bytes) -> None:
    found = break_down(data, NameSources(), source="b")
    assert found.rows.total() == len(data)


def _find_cut(data: bytes) -> None:
    find_cut(data, ("one",), source="x")


def _read_references(data: bytes) -> None:
    found = read_graph(data, None, source="r").graph
    count_retained(found, found.roots)


def _files(folder: Path, pattern: str, most_bytes: int = 2**20) -> tuple[bytes, ...]:
    return tuple(path.read_bytes()[:most_bytes] for path in sorted(folder.glob(pattern)))


_RELEASE = {name: (encode_text(text),) for name, text in documents().items()}
_SIZES = Baseline(
    sizes={("a", "plain"): 3, ("a", "reduced"): 2},
    parts={("a", "reduced"): ByteTable(least_bytes=64, components={"c": {"f": 1, "g": 1}})},
    uses={"m/s@c": Use(work={"reduced": Work(key="0" * 64, functions={"f": (2, 1)}, ran=1)})},
    made_from=InputPrint(
        made_from={"source": "0a"},
        sources="abcde",
        kept={"region 0": "abcde"},
        scenarios={"m/s@c": "0a"},
        values={"setting x": "y"},
    ),
    source="x",
    quick=True,
)
_FUNCTIONS = FunctionList(link_sha256="0" * 64, names=("_ZN1aE", "b", "main"))
_OBSERVABLES = Observables(link_sha256="0" * 64, groups=(("a", "b"), ("m",)))
_CALLS = (
    b'{"role": "compiler", "cwd": "/s", "program": "/bin/cc", "arguments": ["-c", "a.c"],'
    b' "files": {}}\n'
    b'{"role": "compiler", "cwd": "/s", "program": "/bin/cc", "arguments": ["@x", "-o", "p"],'
    b' "files": {"x": "a.o -Wl,-soname,p.1 \'b c.a\' @y", "y": "-T s.ld"}}\n'
)
_PARAM = b"7767517\n3 4\nInput d 0 1 d 0=4 1=5 2=3\nSplit s 1 2 d a b\nAdd c 2 1 a b o 0=0\n"

READERS = (
    FileReader("npy", _arrays(), _npy),
    FileReader("keep set", _files(_SAMPLE / "megtrim", "*/*/*.json"), _text(parse_keep_set)),
    FileReader("model", _files(_DATA / "models", "*.mge"), _raw(parse_mge)),
    FileReader(
        "sample model",
        _files(_SAMPLE / "models", "*.sample", 65_536),
        _raw(SampleModels().parse),
    ),
    FileReader("algorithm cache", _files(_DATA / "caches", "*.cache"), _raw(MgeCaches().parse)),
    FileReader(
        "sample algorithm cache", _files(_SAMPLE / "models", "*.cache"), _raw(SampleCaches().parse)
    ),
    FileReader("ncnn model", (_PARAM,), _raw(parse_param)),
    FileReader("trace", _files(_DATA / "traces", "*.trace"), _raw(parse_trace)),
    FileReader(
        "counts",
        (b"0 12 3\nff0 1 0 /libc.so.6\n0 1 0 -\n3 blocks, 1 processes\n",),
        _raw(parse_blocks),
    ),
    FileReader("operator JSON", _files(_DATA / "strip-info", "*.json"), _raw(parse_operator_json)),
    FileReader(
        "megtrim.yaml",
        _files(ROOT / "examples", "**/*.yaml"),
        lambda data: parse_document(data, file="megtrim.yaml"),
    ),
    FileReader(RELEASE_FILE, _RELEASE[RELEASE_FILE], _text(parse_contents)),
    FileReader(STATEMENT_FILE, _RELEASE[STATEMENT_FILE], _text(read_statement)),
    FileReader(CHECKSUMS_FILE, _RELEASE[CHECKSUMS_FILE], _text(parse_checksums)),
    FileReader("sizes.json", (dump_sizes(_SIZES).encode(),), _text(parse_sizes)),
    FileReader(
        "sizes of a commit",
        (dump(make_sizes(1, 100, kernels=40)).encode(), dump(make_sizes(2, 7)).encode()),
        _text(SIZE_FILES.parse),
    ),
    FileReader("bytes of an ELF file", (OBJECT, LINKED), _break_down),
    FileReader("sections", (OBJECT, LINKED), _raw(parse_elf)),
    FileReader("segments", (LINKED, PROGRAM), _raw(segments)),
    FileReader("functions", (LINKED, PROGRAM), _raw(parse_table)),
    FileReader("map of blocks", (MAPPED,), _raw(parse_block_map)),
    FileReader("list of blocks", (_BLOCK_LIST,), _raw(parse_block_list)),
    FileReader("unit to cut", (OBJECT,), _find_cut),
    FileReader("C++ runtime", (LINKED, PROGRAM), _raw(find_cxx_runtime)),
    FileReader("pages", (LINKED, PROGRAM), _raw(partial(find_misfit, page_bytes=4096))),
    FileReader("references of a linked file", (PROGRAM, LINKED), _read_references),
    FileReader(
        "bytes of an archive",
        (archive({"/": b"index", "//": b"a_long_name.o/\n", "/0": OBJECT, "b.o/": LINKED}),),
        _break_down,
    ),
    FileReader("map of a link", (LLD, GNU), _raw(parse_map)),
    FileReader("list of functions", (dump_list(_FUNCTIONS).encode(),), _raw(parse_list)),
    FileReader("observables", (dump_observables(_OBSERVABLES).encode(),), _raw(parse_observables)),
    FileReader(
        "verdict.json",
        (to_json(passing()).encode(), to_json(failing()).encode()),
        _text(parse_verdict),
    ),
    FileReader(
        "ending.json",
        (dump(EarlyExit(exit=2, message="m", hint="h")).encode(),),
        _text(parse_ending),
    ),
    FileReader(
        "evidence.json",
        (
            dump(EvidenceSet(entries=(evidence(),))).encode(),
            written(evidence(timed(record()), purpose=JobPurpose.TIME)).encode(),
        ),
        _text(parse_set),
    ),
    FileReader("calls of a build", (_CALLS,), _read_links),
    FileReader(
        "bundle.json",
        (dump(bundle()).encode(), dump(time_bundle()).encode()),
        _text(parse_bundle),
    ),
    FileReader(
        "record of a contest",
        (dump(record(result=contest_result(samples=tuple(samples()[:2])))).encode(),),
        _text(_read_record),
    ),
    FileReader(
        "report of a crash",
        (
            tombstone([(0x1234, LIBRARY), (0x2344, LIBRARY)], build_id="0f" * 20, offset=4096),
            tombstone([(0x1234, LIBRARY)], maps=MAPS, logcat=True),
            "\n".join(MAPS).encode() + b"\n#0  0x0000005500012344 in ?? () from /lib/a.so\n",
            *(path.read_bytes() for path in sorted(LAYOUTS.glob("*.txt"))),
            *(json.dumps(make(_CRASH)).encode() for make in DOCUMENTS.values()),
            encode(proto_tombstone(_CRASH)),
        ),
        _raw(parse_report),
    ),
)
