"""What the owner of a machine with devices says of them: how jobs log in, whose power they switch.

A job's bundle comes from a pull request, which must not choose any of this. The file is YAML with
the keys that megtrim.yaml has for a device; MEGTRIM_BOARDS names it.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError

from megtrim.config.device import BoardAccess, DeviceSettings, PowerPort, is_on_runner
from megtrim.config.document import LARGEST_FILE_BYTES, parse_document
from megtrim.config.problems import ConfigError
from megtrim.config.pydantic_messages import problems_of
from megtrim.config.value_types import ConfigSection, HostName, Name, Serial
from megtrim.util.errors import InputError
from megtrim.util.input_files import MISSING, kind_at, read_bytes

BOARDS_VARIABLE = "MEGTRIM_BOARDS"
_EXAMPLE = "`boards: [{name: rock-5, host: rock-5.lan}]`"


class OwnedBoard(BoardAccess):
    name: Name
    """The name that configurations give the device."""
    host: HostName


class OwnedPhone(ConfigSection):
    serial: Serial
    power: PowerPort


class OwnedDevices(ConfigSection):
    boards: tuple[OwnedBoard, ...] = Field(default=(), max_length=1000)
    phones: tuple[OwnedPhone, ...] = Field(default=(), max_length=1000)

    def settle(self, name: str, kind: str, asked: DeviceSettings) -> DeviceSettings:
        """Return a device's settings with what its owner says, whatever a pull request does."""
        if kind != "ssh":
            powers = {phone.serial: phone.power for phone in self.phones}
            return asked.model_copy(update={"power": powers.get(asked.serial)})
        for board in self.boards:
            if board.name == name:
                own = {key: value for key, value in board if key != "name"}
                return asked.model_copy(update=own)
        msg = f"device {name}: this machine's owner names no such board"
        raise InputError(msg, hint=f"{BOARDS_VARIABLE} names a file with its boards: {_EXAMPLE}")


def load_owned_devices(path: str) -> OwnedDevices:
    """Read the owner's file; without one, jobs may use no board. Raises InputError."""
    if not path or kind_at(Path(path)) == MISSING:
        return OwnedDevices()
    expected = f"a file with this machine's boards, such as {_EXAMPLE}"
    raw = read_bytes(
        Path(path), most_bytes=LARGEST_FILE_BYTES, expected=expected, shown=BOARDS_VARIABLE
    )
    document = parse_document(raw, file=path)
    try:
        owned = OwnedDevices.model_validate(document.data)
    except ValidationError as error:
        problems = [*problems_of(error, document, OwnedDevices), *document.repeated]
        raise ConfigError(problems) from None
    problems = [*document.repeated]
    for index, board in enumerate(owned.boards):
        problems += [
            document.problem(("boards", index, key), str(file), "a path: /... or ~/...")
            for key, file in board
            if isinstance(file, Path) and not is_on_runner(str(file))
        ]
    if problems:
        raise ConfigError(problems)
    return owned
