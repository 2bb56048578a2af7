"""What each stage finds: one type for each kind of task, written to its manifest and read back.

Pure values. A field that another run of the same task may fill differently, such as a time, has a
name of :data:`megtrim.chain.result_content.MEASURED`.
"""

from __future__ import annotations
