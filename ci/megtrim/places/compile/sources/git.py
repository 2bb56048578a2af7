"""Git for repositories that others wrote: objects are read, one commit is fetched, no more.

No settings of a person or machine count, no hook, filter or helper runs, and nothing is followed:
no redirect, no submodule, no other protocol. The key of a repository reaches one fetch, a token by
the environment of that program, a deploy key by an agent; it is in no file and on no command line.
"""

import base64
import os
import re
import shlex
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.input_files import read_text
from megtrim.libs.util.owned_folders import MARKER
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.compile.sources.gitmodules import FILE, LARGEST_BYTES, RepositoryUrl

_FETCH_TIMEOUT_S = 1800.0
_SETTINGS = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "credential.helper=",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "safe.directory=*",
    "-c",
    "http.followRedirects=false",
    "-c",
    "fetch.recurseSubmodules=false",
    "-c",
    "submodule.recurse=false",
    "-c",
    "advice.detachedHead=false",
)
_ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "HOME": os.devnull,
    "LC_ALL": "C",
}
_HEADER_VARIABLE = "MEGTRIM_GIT_HEADER"
_UNKNOWN_HOST = "Host key verification failed"
REFUSALS = (
    "Authentication failed",
    "could not read",
    "not found",
    "error: 401",
    "error: 403",
    "error: 404",
    "not our ref",
    "unadvertised object",
    "does not appear to be a git repository",
    "Permission denied",
    _UNKNOWN_HOST,
)
_ADVICE = (
    "fatal: Could not read from remote repository.",
    "Please make sure you have the correct access rights",
    "and the repository exists.",
)
"""What git adds to whatever ssh said, also where no one was asked for any rights."""

GIT = ".git"
_MOST_GIT_BYTES = 8_192
_LINK_MODE = "160000"
_FILE_MODES = ("100644", "100755")
_BRANCH_TIMEOUT_S = 30.0
_REMOTE = "refs/remotes/origin/"
_TAG = re.compile(r"([0-9a-f]{40})\trefs/tags/(v[0-9]+\.[0-9]+\.[0-9]+)(\^\{\})?")
_KIT_TIMEOUT_S = 60.0
_KIT_ENV = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_MOST_NAMED = 5
KNOWN_HOSTS = (
    "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"
)
"""As their owners publish them; further ones are named by the workflow."""

_USER = "git"
_KEY = re.compile(
    r"-----BEGIN (?P<kind>(?:[A-Z0-9]+ )?PRIVATE KEY)-----\n"
    r"(?:[A-Za-z0-9+/=]{1,100}\n){1,100}"
    r"-----END (?P=kind)-----\n",
    re.ASCII,
)
_HOST_LINE = re.compile(r"[A-Za-z0-9.,:\[\]-]{1,500} [a-z0-9@.-]{1,60} [A-Za-z0-9+/=]{1,2000}")
_START_S = 10.0
_PAUSE_S = 0.01
_ADD_TIMEOUT_S = 60.0
_TIMEOUT_S = 120.0


class Tree(Value):
    commit: str
    files: tuple[str, ...]
    links: Mapping[str, str]
    """By path."""
    modules: str


def is_made(folder: Path) -> bool:
    """Tell whether :meth:`SourceRepository.make` made a repository; git is not asked.

    An earlier version left no marker: its repositories are shallow, without template or remote.
    """
    own = folder / GIT
    if own.is_symlink() or not own.is_dir():
        return False
    if (own / MARKER).is_file():
        return True
    from_template = any((own / name).exists() for name in ("description", "hooks"))
    if from_template or not (own / "shallow").is_file():
        return False
    try:
        return "[remote" not in read_text(own / "config", most_bytes=_MOST_GIT_BYTES, expected="")
    except InputError:
        return False


def is_work_tree(folder: Path, repository: Path) -> bool:
    """Tell whether a folder was added to a repository as a work tree; git is not asked."""
    try:
        leads_to = read_text(folder / GIT, most_bytes=_MOST_GIT_BYTES, expected="a work tree")
    except InputError:
        return False
    return leads_to.startswith(f"gitdir: {repository.resolve() / GIT}/worktrees/")


class SourceRepository:
    def __init__(self, folder: Path, processes: ProcessRunner) -> None:
        self.folder = folder
        self._processes = processes

    def make(self) -> None:
        try:
            self.folder.mkdir(parents=True)
        except OSError as error:
            msg = f"{self.folder} cannot be made: {error.strerror}"
            raise InputError(msg, hint="nothing else may be where a submodule belongs") from None
        self._ask("init", "--quiet", "--template=", "--initial-branch=main", ".")
        write_atomically(self.folder / GIT / MARKER, "megtrim fetched this submodule\n")

    def has(self, commit: str) -> bool:
        return self._run("cat-file", "-e", f"{commit}^{{commit}}").ok

    def fetch(self, url: RepositoryUrl, commit: str, *, key: str = "", host_keys: str = "") -> None:
        """Fetch one commit, without those before it; with a deploy key by ssh.

        Raises InputError if the server has no such commit for us, else InfrastructureFailure.
        """
        if is_deploy_key(key):
            with hold(key, host_keys, self._processes) as env:
                place = by_ssh(url, KNOWN_HOSTS + host_keys)
                outcome = self._fetch(place, commit, env={**env, "GIT_ALLOW_PROTOCOL": "ssh"})
            secrets: tuple[str, ...] = ()
        else:
            encoded = base64.b64encode(f"x-access-token:{key}".encode()).decode()
            header = f"http.{url}.extraHeader"
            settings = (f"--config-env={header}={_HEADER_VARIABLE}",) if key else ()
            env = {_HEADER_VARIABLE: f"Authorization: Basic {encoded}"} if key else {}
            allowed = {**env, "GIT_ALLOW_PROTOCOL": url.scheme}
            outcome = self._fetch(str(url), commit, settings=settings, env=allowed)
            secrets = (key, encoded) if key else ()
        if outcome.ok:
            return
        said = outcome.stderr
        for text in secrets:
            said = said.replace(text, "***")
        raise _make_failure(url, commit, said, timed_out=outcome.timed_out, keyed=bool(key))

    def _fetch(
        self, place: str, commit: str, *, env: Mapping[str, str], settings: tuple[str, ...] = ()
    ) -> CompletedCommand:
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1")
        words = ("fetch", *quiet, "--", place, commit)
        return self._run(*words, settings=settings, env=env, timeout_s=_FETCH_TIMEOUT_S)

    def check_out(self, commit: str) -> None:
        self._ask("checkout", "--quiet", "--force", "--detach", commit)

    def add_work_tree(self, folder: Path, commit: str) -> None:
        self._ask(
            "worktree", "add", "--quiet", "--force", "--detach", str(folder.absolute()), commit
        )

    def tree(self, commit: str = "HEAD") -> Tree:
        sha = self._ask("rev-parse", "--verify", f"{commit}^{{commit}}").strip()
        files = []
        links = {}
        modules = ""
        for entry in self._ask("ls-tree", "-r", "-z", "--full-tree", sha).split("\0"):
            facts, _, path = entry.partition("\t")
            mode, _, blob = facts.partition(" ")
            if mode == _LINK_MODE:
                links[path] = blob.rpartition(" ")[2]
            elif path == FILE:
                if mode not in _FILE_MODES:
                    msg = f"{FILE}: found an entry of mode {mode}, expected a plain file"
                    raise InputError(msg)
                modules = self.text(sha, FILE, most_bytes=LARGEST_BYTES)
            elif path:
                files.append(path)
        return Tree(commit=sha, files=tuple(files), links=links, modules=modules)

    def text(self, commit: str, path: str, *, most_bytes: int) -> str:
        """Raises InputError if it is too long or missing."""
        name = f"{commit}:{path}"
        size = self._ask("cat-file", "-s", name).strip()
        if int(size) > most_bytes:
            msg = f"{path}: found {size} bytes, expected at most {most_bytes:,}"
            raise InputError(msg)
        return self._ask("cat-file", "blob", name)

    def _ask(self, *arguments: str) -> str:
        outcome = self._run(*arguments)
        if not outcome.ok:
            said = (outcome.stderr.strip().splitlines() or ["no message"])[-1]
            msg = f"git {arguments[0]} failed in {self.folder}: {said[:300]}"
            raise InputError(msg, hint="is the checkout complete? `git status` there shows more")
        return outcome.stdout

    def _run(
        self,
        *arguments: str,
        settings: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> CompletedCommand:
        argv = ("git", "-C", str(self.folder), *_SETTINGS, *settings, *arguments)
        more = {**_ENV, "GIT_ALLOW_PROTOCOL": "none", **(env or {})}
        return self._processes.run(Command(argv=argv, timeout_s=timeout_s, env=more))


def _make_failure(
    url: RepositoryUrl, commit: str, said: str, *, timed_out: bool, keyed: bool
) -> InputError | InfrastructureFailure:
    reason, refused = _read_reason(said, timed_out=timed_out)
    msg = f"{url} cannot be fetched at {commit[:12]}: {reason}"
    if not refused:
        return InfrastructureFailure(msg, hint="run the job again")
    if _UNKNOWN_HOST in said:
        return InputError(msg, hint="name the server's key in the input engine-host-keys")
    hint = "may the key read it?" if keyed else "is it private? The secret engine-key reads one"
    return InputError(msg, hint=f"{hint}; and is the commit pushed?")


def _read_reason(said: str, *, timed_out: bool) -> tuple[str, bool]:
    if timed_out:
        return "no answer in time", False
    lines = [line for line in said.splitlines() if line.strip() and line not in _ADVICE]
    refused = [line for line in lines if any(word in line for word in REFUSALS)]
    return (refused or lines[-1:] or ["no message"])[0].strip()[:300], bool(refused)


def find_default_branch(top: Path, processes: ProcessRunner) -> str:
    """Without a remote, the current branch. Raises InputError where git knows neither."""
    for reference in (f"{_REMOTE}HEAD", "HEAD"):
        argv = ("git", "-C", str(top), "symbolic-ref", "--quiet", reference)
        answer = processes.run(Command(argv=argv, timeout_s=_BRANCH_TIMEOUT_S))
        name = answer.stdout.strip().removeprefix(_REMOTE).removeprefix("refs/heads/")
        if answer.ok and name:
            return name
    msg = f"the default branch of {top} is not known: no remote names it, and HEAD is detached"
    raise InputError(msg, hint="name it: --branch NAME")


def list_versions(url: str, processes: ProcessRunner) -> dict[str, str]:
    """By tag ``vX.Y.Z``, the newest first. Raises InputError if there is no such repository."""
    # The folder that we are called in may look like a repository, with settings that name programs.
    bare = ("-c", "safe.bareRepository=explicit")
    argv = ("git", *bare, "ls-remote", "--tags", "--", url, "refs/tags/v*")
    answer = processes.run(Command(argv=argv, timeout_s=_KIT_TIMEOUT_S, env=_KIT_ENV))
    if not answer.ok:
        reason, refused = _read_reason(answer.stderr, timed_out=answer.timed_out)
        msg = f"the versions of the kit cannot be read from {url}: {reason}"
        if refused:
            hint = "is --kit right? A private kit needs git to have its key"
            raise InputError(msg, hint=hint)
        hint = "is it reachable from this machine? then run this again"
        raise InfrastructureFailure(msg, hint=hint)
    found: dict[str, str] = {}
    for line in answer.stdout.splitlines():
        match = _TAG.fullmatch(line)
        # The tag's own object comes first where it has a text; the commit is what it leads to.
        if match and (match[3] or match[2] not in found):
            found[match[2]] = match[1]
    newest = sorted(found, key=lambda each: [*map(int, each[1:].split("."))], reverse=True)
    return {version: found[version] for version in newest}


def choose_version(
    repository: str, known: Mapping[str, str], *, version: str = "", sha: str = ""
) -> str:
    """Return the tag that is named, or the newest; with ``sha``, the newest of that commit."""
    fitting = [tag for tag in known if version in ("", tag) and sha in ("", known[tag])]
    if fitting:
        return fitting[0]
    if version in known:
        msg = f"--kit-sha: found {sha}, expected {known[version]}, the commit of {version}"
        raise InputError(
            msg, hint="which of the two did you review? Name that one's tag and commit"
        )
    option, at = ("--kit-sha", f"at {sha}") if sha and not version else ("--kit-version", version)
    msg = f"{option}: {repository} has no tag {at or 'vX.Y.Z'}"
    newest = ", ".join(list(known)[:_MOST_NAMED])
    hint = f"its newest: {newest}" if newest else "it has no tag vX.Y.Z: is it the kit?"
    raise InputError(msg, hint=hint)


def is_deploy_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None


def check_host_keys(text: str) -> str:
    """A line break follows each. Raises InputError for anything else."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if not _HOST_LINE.fullmatch(line):
            msg = f"engine-host-keys: found {line[:80]!r}, expected HOST KIND KEY"
            raise InputError(msg, hint="`ssh-keyscan HOST` prints such lines; compare them first")
    return "".join(f"{line}\n" for line in lines)


def by_ssh(url: RepositoryUrl, host_keys: str) -> str:
    """At the port that the server's host key is known for, else 22."""
    host = url.host.partition(":")[0]
    named = re.search(rf"(?:^|[ ,\n])\[{re.escape(host)}\]:([0-9]{{1,5}})[ ,]", host_keys)
    port = f":{named[1]}" if named else ""
    return f"ssh://{_USER}@{host}{port}/{'/'.join(url.parts)}{url.ending}"


@contextmanager
def hold(key: str, host_keys: str, processes: ProcessRunner) -> Iterator[Mapping[str, str]]:
    """Yield the variables by which git uses the key, until the block ends. Raises InputError."""
    with tempfile.TemporaryDirectory(prefix="megtrim-ssh-") as place:
        agent = Path(place, "agent")
        known = Path(place, "known-hosts")
        known.write_text(KNOWN_HOSTS + host_keys, encoding="ascii")
        # Without -D it would leave our group, and outlive a job that is cut off.
        command = Command(argv=("ssh-agent", "-D", "-a", str(agent)), timeout_s=0)
        with processes.background(command) as running:
            deadline = time.monotonic() + _START_S
            while not agent.exists():
                if not running.alive() or time.monotonic() > deadline:
                    msg = "ssh-agent does not start"
                    raise InfrastructureFailure(msg, hint="run it again")
                time.sleep(_PAUSE_S)
            _add(key, agent, processes)
            yield {"GIT_SSH_COMMAND": shlex.join(_ssh(agent, known)), "GIT_SSH_VARIANT": "ssh"}


def _add(key: str, agent: Path, processes: ProcessRunner) -> None:
    memory = os.memfd_create("key")
    try:
        os.write(memory, key.encode("ascii"))
        more = {"SSH_AUTH_SOCK": str(agent), "SSH_ASKPASS_REQUIRE": "never"}
        read = Path(f"/proc/self/fd/{memory}")
        argv = ("ssh-add", "-q", "-")
        added = processes.run(Command(argv=argv, timeout_s=_ADD_TIMEOUT_S, env=more, stdin=read))
    finally:
        os.close(memory)
    if not added.ok:
        msg = "the engine's key: ssh-add does not accept it"
        raise InputError(msg, hint="give a whole private key without a passphrase")


def _ssh(agent: Path, known: Path) -> tuple[str, ...]:
    options = {
        "IdentityFile": "none",
        "IdentityAgent": f'"{agent}"',
        "UserKnownHostsFile": f'"{known}"',
        "GlobalKnownHostsFile": os.devnull,
        "StrictHostKeyChecking": "yes",
        "BatchMode": "yes",
        "PreferredAuthentications": "publickey",
        "ClearAllForwardings": "yes",
        "ConnectTimeout": "30",
    }
    given = (word for name, value in options.items() for word in ("-o", f"{name}={value}"))
    return ("ssh", "-F", os.devnull, *given)
