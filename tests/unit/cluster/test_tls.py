"""Clusters that encrypt: Dask's TLS settings reach the scheduler, the workers and the client."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import spnc
from tests.clusters import Cluster, Command

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

SPEC = """model: parts
data: {source: builtin:digits, split: [0.8, 0.1, 0.1], partition_rows: 700}
forest:
- {learner: extra-spn, min_instances: 200}
backend: numpy
optimizer: {max_iterations: 2}
"""


@pytest.fixture
def certificates(tmp_path: Path) -> dict[str, str]:
    """Dask's settings for a key and a certificate that signs itself, as environment variables."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=127.0.0.1", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    found = {"DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(certificate)}
    for role in ("CLIENT", "SCHEDULER", "WORKER"):
        found[f"DASK_DISTRIBUTED__COMM__TLS__{role}__KEY"] = str(key)
        found[f"DASK_DISTRIBUTED__COMM__TLS__{role}__CERT"] = str(certificate)
    return found


def test_certificates_are_taken_from_the_configuration_of_dask(
    tmp_path: Path, certificates: dict[str, str]
) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    with Cluster(tmp_path, 1, "tls", certificates) as cluster:
        words = ["train", "spec.yaml", "--out", "run", "--cluster", cluster.address]
        with Command(tmp_path, *words) as command:  # without certificates
            assert command.ended() == 1
        assert "error[E512]" in command.shown
        assert "TLS" in command.shown
        assert "Traceback" not in command.shown
        with Command(tmp_path, *words, environment=certificates) as command:
            assert command.ended() == 0, command.shown
    spnc.train(tmp_path / "spec.yaml", out=tmp_path / "alone")
    found = (tmp_path / "run" / "model.spnc").read_bytes()
    assert found == (tmp_path / "alone" / "model.spnc").read_bytes()
