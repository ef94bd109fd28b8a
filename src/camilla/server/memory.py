"""Memory of the server's processes: given back to the system, and limited for what comes from outside."""

import ctypes
import platform
import resource
from functools import cache

ARENAS = 2
LARGE = 2**16  # bytes; blocks from this size on are mapped by themselves and go back when they are freed
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # of glibc's malloc.h


@cache
def _glibc() -> ctypes.CDLL | None:
    """The C library where it is glibc; others have none of these settings."""
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None


def keep_small() -> None:
    """Fewer arenas, and large blocks outside of them.

    glibc gives threads arenas of their own, up to eight per core, and each keeps what was freed in it.
    Threads of a server come and go, so that without this its memory grows for as long as it runs.
    """
    if (library := _glibc()) is not None:
        for setting, value in ((M_ARENA_MAX, ARENAS), (M_MMAP_THRESHOLD, LARGE), (M_TRIM_THRESHOLD, LARGE)):
            library.mallopt(setting, value)


def give_back() -> None:
    """Returns pages that hold nothing to the system; for when something large was forgotten."""
    if (library := _glibc()) is not None:
        library.malloc_trim(0)


def limit(size: int, seconds: int) -> None:
    """From now on this process ends when it takes more memory, or computes for longer."""
    wanted = {resource.RLIMIT_DATA: size, resource.RLIMIT_CPU: seconds, resource.RLIMIT_CORE: 0}
    for kind, value in wanted.items():
        _, most = resource.getrlimit(kind)
        allowed = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (allowed, allowed))
