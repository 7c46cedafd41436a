"""Run folders: the files of a training, and what is read back from them."""
