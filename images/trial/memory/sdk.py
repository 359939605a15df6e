"""How is the MCP SDK imported in less time? Without the parts that serving on standard input and output doesn't use.

The SDK's package initializers import everything that it has: its client, its HTTP transports, its high-level server. A
module imported below a package runs the package's initializer first. So the packages on the way to the low-level server
are put in place here without running theirs; the modules below them are the SDK's own, unchanged. Numbers stand in
`docs/reference/memory-server.md`; a contract test holds the two ways of importing against each other.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys

_PACKAGES = ("mcp", "mcp.server", "mcp.server.lowlevel")


def open_packages() -> None:
    """The SDK's modules below `mcp.server.lowlevel` import without its package initializers.

    Call it before anything has imported `mcp`; afterwards it changes nothing.

    Raises:
        ModuleNotFoundError: the SDK isn't installed.
    """
    search: list[str] | None = None
    for name in _PACKAGES:
        if name in sys.modules:
            return
        spec = importlib.machinery.PathFinder.find_spec(name, search)
        if spec is None or spec.submodule_search_locations is None:
            raise ModuleNotFoundError(f"no package {name}", name=name)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        search = list(spec.submodule_search_locations)
