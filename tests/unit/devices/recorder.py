from megtrim.util.process import Command, CompletedCommand, ProcessRunner


class Recorder(ProcessRunner):
    """Runs nothing, and answers every call alike."""

    def __init__(self, env: dict[str, str], stdout: str = "", stderr: str = "", rc: int = 0):
        super().__init__(env)
        self.commands: list[Command] = []
        self._ending = (stdout, stderr, rc)

    def run(self, command: Command) -> CompletedCommand:
        self.commands.append(command)
        stdout, stderr, rc = self._ending
        return CompletedCommand(
            argv=command.argv, rc=rc, stdout=stdout, stderr=stderr, wall_s=0, timed_out=False
        )
