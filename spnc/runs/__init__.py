"""Run folders: the files of a training, and what is read back from them. The files, in the order
in which a training uses them:

    preparation.py   what has to be in order before a run: data, lock, plug-ins, backend
    lock.py          `recipe.lock.yaml`: what a run was made from, and whether that has changed
    folder.py        `RunFolder`: which files a run writes, when, and how a run is resumed
    in_use.py        one training at a time in a folder
    checkpoint.py    the state of training as a file, to resume from
    interruption.py  what is raised when a run was interrupted and its checkpoint written
    outcome.py       how one try of a search went; `tries.csv`
    metrics.py       how a training went, in numbers; `metrics.json`
    results.py       `metrics.json` has the checksums of all files of a finished run
    history.py       the learning curve, read from a folder for plots and pages
"""
