"""What the kinds of toolchains share."""

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner


def need(processes: ProcessRunner, name: str, *, hint: str) -> str:
    path = processes.which(name)
    if path is None:
        msg = f"{name} is not on the PATH of {processes.where}"
        raise InputError(msg, hint=hint)
    return path


def first_line(processes: ProcessRunner, *argv: str) -> str:
    lines = processes.capture(*argv).splitlines()
    if not lines:
        msg = f"{' '.join(argv)} prints nothing"
        raise InputError(msg, hint="is it the tool of that name?")
    return lines[0].strip()
