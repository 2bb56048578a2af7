"""Miniature trees with the real engine's layout, one for each generation.

The sources are the sample engine's, moved to where the real tree has such things and patched
where a generation differs; ``parts`` holds our own build files and scripts. INDEX.md says from
which upstream file the shape of each was read. Nothing here is upstream's text.
"""

from support.miniature.tree import Generation, make_miniature

__all__ = ["Generation", "make_miniature"]
