"""Compiles a NixOS test script and refuses names that neither it nor the test driver defines."""

import builtins
import symtable
import sys
from pathlib import Path

# What the driver gives a script, beside the machines.
DRIVER = {"start_all", "subtest", "retry", "log", "serial_stdout_off", "machines"}


def unknown(table: symtable.SymbolTable, known: set[str]) -> set[str]:
    """Return the global names that are used and defined nowhere."""
    found = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and symbol.is_global() and symbol.get_name() not in known
    }
    return found.union(*(unknown(child, known) for child in table.get_children()))


path, *machines = sys.argv[1:]
source = Path(path).read_text(encoding="utf-8")
top = symtable.symtable(source, path, "exec")
own = {
    symbol.get_name()
    for symbol in top.get_symbols()
    if symbol.is_assigned() or symbol.is_imported()
}
strangers = unknown(top, own | DRIVER | set(machines) | set(dir(builtins)))
if strangers:
    sys.exit(f"error: {path}: unknown names: {', '.join(sorted(strangers))}")
