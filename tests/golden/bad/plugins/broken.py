"""A plug-in file that cannot be imported."""

import spnc_no_such_module  # noqa: F401
