"""From the name of a data source to a `Dataset`. The files, in the order data passes through them:

    options.py       the section `data` of a spec: where rows come from, and how they are split
    load.py          `load` (for a spec) and `load_table` (for a command line): the way in
    sources.py       `builtin:NAME`, `debd:NAME` or a file -> tables, by split
      builtin.py       the datasets that come with spnc; asia.py makes one of them
      debd.py          the twenty public datasets: located or fetched (download.py) and verified
                       (debd_hashes.py)
      files.py         a file -> the reader for its type
        text_tables.py   CSV, TSV and the like, by one of two readers:
          text_fast.py     regular files of numbers, quickly
          text_exact.py    all other files, with a message for every problem
          text_cells.py    how lines are split into cells, and what a cell means
        array_files.py   NPY and NPZ
    raw_table.py     a table as it was read: numbers, and where each row came from
    file_report.py   collects the problems inside one file
    column_kinds.py  raw tables -> columns: kinds are inferred, or checked against a model's
    dataset.py       `Column`, `Table` and `Dataset`: what all other rooms work with

Rows to evaluate need not fit into memory: stream.py yields the tables of `load_table` in pieces,
which pieces.py reads from files.

What is computed from tables: distinct.py finds equal rows, pairs.py counts pairs of columns,
summary.py collects the facts that `spnc data show` prints.

To read another type of file, write a function from bytes and a `FileReport` to raw tables, and
enter it in `files.py`. To add a kind of source, add its scheme to `sources.py`. A reader reports
every problem that it finds, and does not stop at the first.
"""
