"""A shell script in the role of a build, whose iterations take as long as it is asked to."""

import struct

_FLOAT32 = 0
_SCRIPT = """\
#!/bin/sh
for word in "$@"; do
  case "$previous" in
    --iter) count=$word ;;
    --bin-out-dump) printf '{output}' > "$word/run0-var1" ;;
  esac
  previous=$word
done
{before}
exec >&2
echo "using MegBrain 1.13.4(0) and MegDNN 9.3.0"
echo "load model: 1.000ms"
echo "=== prepare: 2.000ms; going to warmup"
echo "warm up 0  3.000ms"
i=0
while [ $i -lt $count ]; do
  echo "iter $i/$count: e2e={ms}.000 ms (host=1.000 ms)"
  i=$((i + 1))
done
[ $count = 1 ] && spread=-nan || spread=0.000
total=$(({ms} * count)).000
sleep $(({ms} * count / 1000)).$(printf %03d $(({ms} * count % 1000 + 5)))
range="min={ms}.000 ms max={ms}.000 ms"
average="avg_time={ms}.000 ms standard_deviation=$spread ms"
echo "=== finished test #0: time=$total ms $average $range"
echo "=== total time: ${{total}}ms"
"""


def timed_program(ms: int, *, numbers: tuple[float, ...] = (1.0, 2.0), before: str = "") -> str:
    header = struct.pack("<IIII", 0, _FLOAT32, 1, len(numbers))
    data = header + struct.pack(f"<{len(numbers)}f", *numbers)
    output = "".join(f"\\{byte:03o}" for byte in data)
    return _SCRIPT.format(ms=ms, output=output, before=before)
