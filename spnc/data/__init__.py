"""From the name of a data source to a `Dataset`. The files, in the order data passes through them:

    options.py       the section `data` of a spec: where rows come from, columns, splits
    load.py          `load` (for a spec) and `load_table` (for a command line): the way in
    sources.py       `builtin:NAME`, `debd:NAME` or a file -> raw tables, by split
      builtin.py       the datasets that come with spnc; asia.py and measurements.py make some
      debd.py          the twenty public datasets: located or fetched (download.py) and verified
                       (debd_hashes.py)
      joined_files.py  a file, or several files as one table; several_files.py finds them, and
                       text_forms.py whether their texts have headers
      files.py         a file -> the reader for its type, decompressed by compression.py
        text_tables.py   CSV, TSV and the like; text_layout.py finds delimiter and header
          text_fast.py     regular text, block by block, through Arrow's reader
          text_exact.py    all other text, with a message for every problem
          text_cells.py    how lines are split into cells, and what a cell is
        arrow_files.py   Parquet, Arrow and JSON
        array_files.py   NPY and NPZ
      frames.py        data frames, dicts of columns and arrays from Python
    text_rules.py    what readers of texts have to know: header, missing cells, columns of texts
    raw_table.py     a table as it was read; arrow_columns.py makes its columns of Arrow's, and
                     narrow_floats.py turns floats of fewer bits into the decimals they stand for
    file_report.py   collects the problems inside one file
    assembly.py      raw tables -> columns and tables:
      matching.py      columns of splits, or of data and a model, by name
      text_values.py   texts that mean numbers, truth values, dates or nothing
      text_formats.py  numbers and dates that are written for people, such as 12% and 31/01/2020
      column_kinds.py  the rule by which a column gets its kind
      declared.py      what a spec says instead
      dates.py         the units in which dates are counted
      odd_cells.py     texts among numbers or dates, which count as missing
      encoding.py      cells -> codes and numbers; cells that do not fit their column
      scales.py        where the numbers of a column lie; resolution.py, how finely
      column_warnings.py  columns that are left out, or are not what they seem
    columns.py       `Column` and `Scale`; table_rules.py, what else a model knows of its table
    dataset.py       `Table` and `Dataset`: what all other rooms work with

cells.py is the way back: values as the labels, dates and rounded numbers that people see.

Rows to evaluate need not fit into memory: stream.py yields the tables of `load_table` in pieces,
which pieces.py reads from files.

Tables of more rows than a partition holds: large_files.py encodes them in pieces, as partitions
(parted.py, part_files.py) that row_store.py keeps. shard_loading.py does so shard by shard, where
shard_work.py says: shards.py has what is done with a shard, be it of a Dask frame (frame_shards.py)
or of files (file_shards.py).

What is computed from tables: distinct.py finds equal rows, pairs.py counts pairs of columns,
binning.py divides numbers into ranges, summary.py collects the facts that `spnc data show` prints.

To read another type of file, write a function from bytes and a `FileReport` to raw tables, and
enter it in `files.py`. To add a kind of source, add its scheme to `sources.py`. A reader reports
every problem that it finds, and does not stop at the first.
"""
