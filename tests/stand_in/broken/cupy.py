"""A CuPy that cannot be loaded, in the words of one that cannot."""

try:
    raise ImportError("libcudart.so.12: cannot open shared object file: No such file or directory")
except ImportError as error:
    raise ImportError(f"\n{'=' * 64}\nFailed to import CuPy.\n\n{'=' * 64}\n") from error
