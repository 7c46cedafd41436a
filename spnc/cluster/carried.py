"""Objects on their way to workers, with the plug-in files that their classes come from.

Python can only unpickle an object whose class is known. Classes of plug-in files are, after the
files that were imported here, with the content that they had, are imported by the worker.
"""

from __future__ import annotations

import pickle
from typing import Any, Generic, TypeVar

from spnc.registry.files import LoadedFile, load_as_elsewhere, loaded_modules

Content = TypeVar("Content")


class Carried(Generic[Content]):
    """An object for workers, which stays pickled until `opened`."""

    def __init__(self, content: Content) -> None:
        self._pickled = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
        self._plugins: dict[str, LoadedFile] = loaded_modules()
        self._opened: Content | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + len(self._pickled)

    def opened(self) -> Content:
        """Return the object, the same one each time in this process.

        Raises ImportError if this process lacks a class that the object needs.
        """
        if self._opened is None:
            load_as_elsewhere(self._plugins)
            try:
                self._opened = pickle.loads(self._pickled)
            except (AttributeError, ImportError) as error:
                raise ImportError(f"a worker lacks a part of this recipe: {error}") from None
        return self._opened
