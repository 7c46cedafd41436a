"""What every room may use. Imports no other room.

aligned_table.py     tables of text whose columns line up
arrays.py            array types for signatures
atomic.py            files that are complete or absent
column_sets.py       sets of columns as integers
deadline.py          a time at which work is given up
gc_pause.py          no garbage collection while large graphs are built
limits.py            what files may claim or unpack to
observer.py          progress of a run, for whoever displays it
progress_display.py  the progress of a run on a terminal
rng.py               random streams by name
sealed.py            files that carry a checksum of themselves
signals.py           Ctrl-C and its relatives, at any moment
text_files.py        reading text files
threads.py           sharing numbered work among threads
views.py             one-line texts and HTML views of results
wording.py           text for people: visible characters, widths, durations
"""
