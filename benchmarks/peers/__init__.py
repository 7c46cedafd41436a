"""The peers spnc is compared with: each lives in a virtual environment of its own."""
