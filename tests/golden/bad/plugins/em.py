"""A plug-in file with the name of a built-in optimizer."""

from spnc.registry import OPTIMIZERS, Options


@OPTIMIZERS.register("em")
class AnotherEm(Options):
    """Not the built-in one."""
