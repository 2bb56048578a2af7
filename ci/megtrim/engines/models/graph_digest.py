"""The digest of a model file without its weights. Pure."""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable


def digest_graph(data: bytes, weights: Iterable[tuple[int, int]], graph: Iterable[int]) -> str:
    """Return the digest of a file without its ``weights``, given by offset and size.

    Their sizes count. Empty where one lies over another or the ``graph``, which no dump writes.
    """
    digest = hashlib.sha256()
    view = memoryview(data)
    end = 0
    parts = sorted(graph)
    cuts = sorted(weights)
    for start, size in cuts:
        inside = bisect_left(parts, start)
        if start < end or (inside < len(parts) and parts[inside] < start + size):
            return ""
        digest.update(view[end:start])
        end = start + size
    digest.update(view[end:])
    digest.update(repr(cuts).encode())
    return digest.hexdigest()
