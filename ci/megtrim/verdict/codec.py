"""The strict JSON of :mod:`megtrim.strict_json`, under the name that the stages know."""

from megtrim.strict_json import decode, encode

__all__ = ["decode", "encode"]
