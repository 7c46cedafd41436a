"""The errors of CuPy, in its words; and the one that a device would answer by hanging."""

from __future__ import annotations

RUNTIME = {
    2: "cudaErrorMemoryAllocation: out of memory",
    35: (
        "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"
    ),
    46: "cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable",
    100: "cudaErrorNoDevice: no CUDA-capable device is detected",
    101: "cudaErrorInvalidDevice: invalid device ordinal",
    700: "cudaErrorIllegalAddress: an illegal memory access was encountered",
    719: "cudaErrorLaunchFailure: unspecified launch failure",
}
DRIVER = {
    1: "CUDA_ERROR_INVALID_VALUE: invalid argument",
    500: "CUDA_ERROR_NOT_FOUND: named symbol not found",
}


class CUDARuntimeError(RuntimeError):
    """What a call of CUDA's runtime answers if it fails, by its number."""

    def __init__(self, status: int, note: str = "") -> None:
        super().__init__(RUNTIME[status])
        self.status = status
        if note:
            self.add_note(note)


class CUDADriverError(RuntimeError):
    """What a call of CUDA's driver answers if it fails, by its number."""

    def __init__(self, status: int, note: str = "") -> None:
        super().__init__(DRIVER[status])
        self.status = status
        if note:
            self.add_note(note)


class OutOfMemoryError(MemoryError):
    """There is not enough memory on the device."""

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        bound = f", limit set to: {limit:,} bytes" if limit else ""
        super().__init__(
            f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes{bound})."
        )


class CompileException(Exception):  # noqa: N818 - as CuPy calls it
    """The source of a module does not compile."""

    def __init__(
        self, msg: str, source: str, name: str, options: tuple[str, ...], backend: str = "nvrtc"
    ) -> None:
        super().__init__(msg)
        self._message = msg
        self.source, self.name, self.options, self.backend = source, name, options, backend

    def get_message(self) -> str:
        """What the compiler said."""
        return self._message


class BarrierError(RuntimeError):
    """Not all threads of a block reach the same barrier."""
