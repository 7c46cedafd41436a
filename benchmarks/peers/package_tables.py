"""Write every table that comes inside some packages to files; runs in an environment of its own.

    python package_tables.py FOLDER

Files that are tables by themselves (CSV, TSV, Parquet, Arrow) are copied as they are. What a
package keeps in another form is written as CSV by its own loader. One line for every table that
could not be written goes to FOLDER/problems.txt.
"""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TABLES = {".csv", ".tsv", ".parquet", ".arrow", ".feather"}
PACKAGES = ("palmerpenguins", "vega_datasets", "statsmodels", "sklearn")


def main() -> None:
    """Write all tables to the folder that is named on the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    problems = []
    for package in PACKAGES:
        spec = find_spec(package)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        root = Path(next(iter(spec.submodule_search_locations)))
        for file in sorted(p for p in root.rglob("*") if p.suffix in TABLES):
            if "tests" not in file.relative_to(root).parts:
                shutil.copy(file, folder / f"{package}-{file.name}")
    for name, load in [*_vega(), *_statsmodels(), *_sklearn()]:
        if any(folder.glob(f"{name}.*")):
            continue
        try:
            load().to_csv(folder / f"{name}.csv", index=False)
        except Exception as error:  # the package's own trouble, such as data it has to fetch
            reason = str(error).splitlines()[:1]
            problems.append(f"{name}: {type(error).__name__}: {' '.join(reason)}")
    (folder / "problems.txt").write_text("\n".join(problems) + "\n", encoding="utf-8")


def _vega() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the datasets of vega_datasets that are kept inside of it."""
    from vega_datasets import local_data

    for name in local_data.list_datasets():
        loader = getattr(local_data, name.replace("-", "_"))
        yield f"vega_datasets-{name}", loader


def _statsmodels() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the datasets of statsmodels."""
    import statsmodels.datasets as all_of_them

    for module in pkgutil.iter_modules(all_of_them.__path__):
        found = importlib.import_module(f"statsmodels.datasets.{module.name}")
        if module.ispkg and hasattr(found, "load_pandas"):
            yield f"statsmodels-{module.name}", partial(_frame, found)


def _sklearn() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the datasets of scikit-learn that need no download."""
    from sklearn import datasets

    for name in ("iris", "wine", "breast_cancer", "diabetes", "digits", "linnerud"):
        loader = getattr(datasets, f"load_{name}")
        yield f"sklearn-{name}", partial(_sklearn_frame, loader)


def _frame(module: Any) -> Any:
    return module.load_pandas().data


def _sklearn_frame(loader: Any) -> Any:
    return loader(as_frame=True).frame


if __name__ == "__main__":
    main()
