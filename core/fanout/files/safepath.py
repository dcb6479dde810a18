"""Names under a root that a model chose: which are allowed, and how to reach them.

A path is data from a stranger. It is split into names first (no `..`, nothing
absolute that does not lie under the root), each name is checked against what
stays out of reach, and then the folders are opened one by one, each relative
to the descriptor of the one before and never through a link. Comparing resolved
paths instead loses a race against whoever renames a folder meanwhile; a
descriptor cannot be renamed away.

Out of reach are secrets (`.env*`, `.ssh`, keys), `.git` and run data. A run
directory of another name is fenced off by identity: see `fence_off`. A script
that names such a folder as the root itself gets it: it is the script's choice.
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fanout.errors import UsageError

MAX_PATH_BYTES = 4096
_MAX_NAME_BYTES = 255

_DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_DENIED = re.compile(
    r"""
      \.env.*                                   # .env, .env.local, .envrc
    | \.ssh | \.gnupg | \.aws | \.kube | \.docker
    | \.netrc | \.pgpass | \.npmrc | \.pypirc | \.git-credentials
    | \.azure | \.gcloud | \.password-store | \.htpasswd | \.dockercfg | \.boto
    | \.s3cfg | \.vault-token | \.terraformrc | \.my\.cnf
    | .*\.pem | .*\.p12 | .*\.pfx | .*\.key | .*\.keystore | .*\.jks | .*\.ppk
    | .*\.kdbx? | application_default_credentials\.json
    | service[-_]?account[^/]*\.json
    | id_(rsa|dsa|ecdsa|ed25519|xmss)(_sk)?(\..*)?
    | \.git | \.fanout.*
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)

_fences: set[tuple[int, int]] = set()


class Refused(Exception):  # noqa: N818  it is an answer to the model, not a fault
    """The path or the operation is not allowed; the text says why."""


def fence_off(folder: str | os.PathLike[str]) -> None:
    """Keep every file tool of this process out of `folder`, whatever its name.

    Meant for the run directory. A missing folder is ignored.
    """
    try:
        found = Path(folder).stat()
    except OSError:
        return
    _fences.add((found.st_dev, found.st_ino))


def denial(name: str) -> str | None:
    """Why no tool may reach a file or folder of this name; None if it may."""
    if _DENIED.fullmatch(_as_a_disk_may_read_it(name)):
        return f"`{name}` is kept out of reach (secrets, keys, .git or run data)"
    return None


def _as_a_disk_may_read_it(name: str) -> str:
    """Some file systems ignore format characters and compatibility forms."""
    plain = unicodedata.normalize("NFKC", name)
    return "".join(c for c in plain if unicodedata.category(c) != "Cf").rstrip(". ")


def is_fenced(found: os.stat_result) -> bool:
    """Whether this is a folder that `fence_off` named."""
    return (found.st_dev, found.st_ino) in _fences


class Root:
    """A folder that file tools are confined to, resolved when it is made."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Resolve `folder`; a missing one or a file is a `UsageError`."""
        try:
            self.path = os.path.realpath(folder, strict=True)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"the folder `{os.fspath(folder)}` does not exist",
                hint="give an existing folder; a relative one starts from the "
                "folder the command was started in",
            ) from error
        if not Path(self.path).is_dir():
            raise UsageError(
                f"`{os.fspath(folder)}` is not a folder",
                hint="give the folder that holds the file",
            )

    def absolute(self, names: tuple[str, ...]) -> str:
        """Return the absolute path of names under this root."""
        return os.path.join(self.path, *names)  # noqa: PTH118  pure text

    def holds(self, path: str) -> bool:
        """Whether a relative path, links followed, leads to something inside."""
        resolved = os.path.realpath(os.path.join(self.path, path))  # noqa: PTH118
        prefix = self.path.rstrip("/") + "/"
        return resolved.startswith(prefix) and Path(resolved).exists()

    def names(self, path: object) -> tuple[str, ...]:
        """Split a path from a model into names under this root.

        An absolute path inside the root is taken as relative. The root itself
        gives an empty tuple. Raises `Refused`.
        """
        text = _checked_text(path)
        if text.startswith("/"):
            text = self._below(text)
        names = tuple(name for name in text.split("/") if name not in {"", "."})
        for name in names:
            if name == "..":
                raise Refused("`..` is not allowed in a path")
            if len(os.fsencode(name)) > _MAX_NAME_BYTES:
                raise Refused("a name in the path is longer than 255 bytes")
            if reason := denial(name):
                raise Refused(reason)
        return names

    def file_names(self, path: object) -> tuple[str, ...]:
        """Like `names`, for a path that must name a file."""
        names = self.names(path)
        if not names or str(path).endswith(("/", "/.")):
            raise Refused("the path names a folder, not a file")
        return names

    def _below(self, text: str) -> str:
        prefix = self.path.rstrip("/") + "/"
        if text.rstrip("/") + "/" == prefix:
            return ""
        if not text.startswith(prefix):
            raise Refused(f"the path is outside the folder `{self.path}`")
        return text.removeprefix(prefix)

    @contextmanager
    def opened(
        self, names: tuple[str, ...] = (), *, make: bool = False
    ) -> Iterator[int]:
        """Give a descriptor of the folder `names`; with `make`, create it.

        Raises `Refused` for a link, a file or a fenced folder on the way.
        """
        current = open_folder(self.path, None)
        try:
            for name in names:
                if make:
                    _make_folder(name, current)
                deeper = open_folder(name, current)
                os.close(current)
                current = deeper
            yield current
        finally:
            os.close(current)


def open_folder(name: str, parent: int | None) -> int:
    """Open one folder without following a link; the caller closes it.

    Raises `Refused`.
    """
    try:
        opened = os.open(name, _DIR_FLAGS, dir_fd=parent)
    except OSError as error:
        raise refusal(error, name) from error
    if parent is not None and is_fenced(os.fstat(opened)):
        os.close(opened)
        raise Refused(f"`{name}` is kept out of reach (run data)")
    return opened


def refusal(error: OSError, name: str) -> Refused:
    """Put an error of the system into words that name no path outside."""
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    if isinstance(error, NotADirectoryError):
        reason = "a link or not a folder"
    elif isinstance(error, FileNotFoundError):
        reason = "does not exist"
    return Refused(f"`{name}`: {reason}")


def _checked_text(path: object) -> str:
    if not isinstance(path, str) or not path:
        raise Refused("the path must be a text that is not empty")
    if "\0" in path:
        raise Refused("the path contains a NUL character")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise Refused("the path is not valid Unicode") from None
    if size > MAX_PATH_BYTES:
        raise Refused(f"the path is longer than {MAX_PATH_BYTES} bytes")
    return path


def _make_folder(name: str, parent: int) -> None:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return
    except OSError as error:
        raise refusal(error, name) from error


def is_regular(found: os.stat_result) -> bool:
    """Whether this is a plain file: no folder, link, FIFO, socket or device."""
    return stat.S_ISREG(found.st_mode)
