"""What bytes and their prices are listed by: names of tables, which options offer."""

from enum import StrEnum


class View(StrEnum):
    SECTION = "section"
    COMPONENT = "component"
    SYMBOL = "symbol"
    SOURCE = "source"


class PriceKind(StrEnum):
    MODEL = "model"
    SCENARIO = "scenario"
    OPERATOR = "operator"
    FUNCTION = "function"
