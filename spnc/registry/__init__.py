"""Plug-ins: learners, leaves, residual strategies, optimisers, stopping rules, backends, families.

A plug-in is one class that registers itself. One that a spec can set options of inherits
`Options`, a frozen dataclass whose fields are its schema:

    @LEARNERS.register("extra-spn")
    @dataclass(frozen=True, kw_only=True)
    class ExtraSpn(Options):
        '''One line that becomes its documentation.'''
        beta: float = option(0.6, "probability that a random split fails", min=0, below=1)

The built-in plug-ins of a kind are the modules of one package of spnc: a new file is found by
being there. Plug-ins of other packages are found by their entry points, and a spec can name a
Python file of plug-ins that lies beside it. docs/plugins.md shows how to write each kind.

    options.py      Options, and the fields that they are made of
    registries.py   Registry, and one for each kind of plug-in
    suppliers.py    the package or file that an outside plug-in comes from
    files.py        Python files that a spec names under `plugins`
    usage.py        which outside plug-ins a recipe or a model uses, and which are absent
    reads.py        what a plug-in reads of a table that is larger than memory
    blame.py        the outside plug-in that an exception was raised in
"""

from spnc.registry.options import (
    Conflict,
    Field,
    Options,
    Rule,
    choice,
    fields_of,
    nested_options,
    option,
    optional_type,
)
from spnc.registry.registries import (
    BACKENDS,
    FAMILIES,
    LEARNERS,
    LEAVES,
    OBJECTIVES,
    OPTIMIZERS,
    RESIDUALS,
    STOPS,
    Registry,
)

__all__ = [
    "BACKENDS",
    "FAMILIES",
    "LEARNERS",
    "LEAVES",
    "OBJECTIVES",
    "OPTIMIZERS",
    "RESIDUALS",
    "STOPS",
    "Conflict",
    "Field",
    "Options",
    "Registry",
    "Rule",
    "choice",
    "fields_of",
    "nested_options",
    "option",
    "optional_type",
]
