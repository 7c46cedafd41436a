"""The peers: name, version, requirements, and the script that measures each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import environments

_HERE = Path(__file__).resolve().parent
_TORCH = ("torch==2.13.0",)


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A library that spnc is compared with, in an environment of its own."""

    name: str
    version: str
    worker: Path
    requirements: tuple[str, ...]
    no_deps: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()  # of the worker

    @property
    def key(self) -> str:
        """Return the name of its environment."""
        return f"{self.name}-{self.version}"

    def python(self, folder: Path | None = None) -> Path:
        """Return the Python of its environment; make the environment if it does not exist."""
        return environments.ensure(self.key, self.requirements, self.no_deps, folder, self.first)


# Declares TensorFlow, PyQt5 and torchvision, which nothing measured here needs, and a lark-parser
# that clashes with spnc's lark.
SPFLOW_LEGACY = Peer(
    name="spflow",
    version="0.0.48",
    worker=_HERE / "spflow_legacy_speed_worker.py",
    requirements=(
        "numpy<2.3",
        "scipy",
        "scikit-learn",
        "statsmodels",
        "networkx",
        "joblib",
        "matplotlib",
        "pydot",
        "lark-parser",
        "tqdm",
        "sympy",
    ),
    no_deps=("spflow==0.0.48",),
)

SPFLOW = Peer(
    name="spflow",
    version="1.1.0",
    worker=_HERE / "spflow_speed_worker.py",
    requirements=("spflow==1.1.0",),
    first=_TORCH,
)

# Its torchvision would replace torch by a build with CUDA.
DEEPROB = Peer(
    name="deeprob-kit",
    version="1.1.0",
    worker=_HERE / "deeprob_speed_worker.py",
    requirements=(
        "numpy",
        "scipy",
        "scikit-learn",
        "joblib",
        "tqdm",
        "networkx",
        "matplotlib",
        "pydot",
    ),
    no_deps=("deeprob-kit==1.1.0",),
    first=_TORCH,
)

# Its name in the package index is libcirkit; the package named cirkit there is another project.
CIRKIT = Peer(
    name="cirkit",
    version="0.2.1",
    worker=_HERE / "cirkit_asking_worker.py",
    requirements=("libcirkit==0.2.1",),
    first=_TORCH,
)

PEERS = (SPFLOW_LEGACY, SPFLOW, DEEPROB)  # of the speed benchmark
ASKED_PEERS = (*PEERS, CIRKIT)  # cirkit has no EM, which the speed benchmark compares

# Libraries that read tables; NumPy is what the protocol of the workers needs.
READERS = tuple(
    Peer(
        name=name,
        version=version,
        worker=_HERE / "reading_worker.py",
        requirements=(f"{name}=={version}", "numpy"),
        arguments=(name,),
    )
    for name, version in (("pandas", "3.1.1"), ("polars", "2.1.0"), ("pyarrow", "26.0.1"))
)
