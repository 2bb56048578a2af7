"""The stages: each module reads former results from the store and leaves its own there.

A stage module has three functions. ``inputs`` names everything that the result depends on, each
as a short text or a digest; ``work`` does it in an empty folder and returns the result for the
manifest; ``result_type`` is the type of that, one of :mod:`megtrim.pipeline.results`. Stages do
not import each other.
"""
