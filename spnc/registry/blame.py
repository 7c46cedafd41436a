"""Which outside plug-in an exception was raised in, so that the right authors hear of it."""

from __future__ import annotations

from types import TracebackType

from spnc.registry.registries import ALL, Outside


def plugin_at_fault(error: BaseException) -> Outside | None:
    """The outside plug-in nearest to where an exception was raised; None if none was involved.

    Libraries and helpers of spnc that the plug-in had called count as its own: most likely they
    were given something wrong.
    """
    known = [each for registry in ALL for each in registry.outside()]
    found: Outside | None = None
    place: TracebackType | None = error.__traceback__
    while place is not None and known:
        module = str(place.tb_frame.f_globals.get("__name__", ""))
        function = place.tb_frame.f_code.co_qualname
        own = [o for o in known if _belongs(module, o)]
        # Its class's own method; or any function of its package, for which one plug-in stands.
        exact = [o for o in own if function.startswith(f"{o.plugin.__qualname__}.")]
        if exact or (own and (found is None or found not in own)):
            found = (exact or own)[0]
        place = place.tb_next
    return found


def _belongs(module: str, plugin: Outside) -> bool:
    """Whether a module is part of what a plug-in came with."""
    top = plugin.plugin.__module__.split(".")[0]
    return module == plugin.plugin.__module__ or module.split(".")[0] == top
