"""Work on whole tables: filling, predicting and judging rows; tables in, tables out.

The answers are computed in `spnc.queries`. Here they are put beside the columns that came in, in
labels, dates and rounded numbers, in a table of the same kind.
"""
