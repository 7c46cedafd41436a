"""The slow, exact reader of text tables: it reports every problem with its line and column.

`text_tables` uses it for whatever `text_fast` declines.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence

from spnc.data.file_report import FileReport
from spnc.data.raw_table import RawTable, default_name, text_column
from spnc.data.text_cells import is_number, is_unfinished, records
from spnc.data.text_layout import Layout
from spnc.diagnostics import counted, listed

ROW_NAMES = "rownames"  # which the rule about kinds of columns knows to identify rows


def parse_exact(text: str, report: FileReport, layout: Layout) -> RawTable | None:
    """Return the table in a text, or None if the text holds no table.

    All its columns are texts, whatever they mean. If a problem was reported, the table is not
    `sound`: it lacks the rows of the wrong width.
    """
    lines: list[int] = []
    rows: list[list[str]] = []
    for line, row in records(text, layout.delimiter):
        if isinstance(row, csv.Error):
            report.error("E315", f"this row cannot be split into cells: {_why(row)}", line=line)
        else:
            lines.append(line)
            rows.append(row)
    malformed = report.failed
    if not rows:
        if not malformed:
            report.error_empty()
        return None
    names: tuple[str, ...] | None = None
    row_names: str | None = None
    first = layout.first_line
    if first.is_header and _is_preamble(rows):
        message = f"line {lines[0]} has {counted(len(rows[0]), 'cell')}, numbers among them, and "
        message += f"every row has {len(rows[1])}: it is skipped, and columns are named x0, x1, …"
        help = "remove the line, or replace it by the names of the columns"
        report.sink.warning("W313", message, where=report.file, help=help)
        lines, rows = lines[1:], rows[1:]
    elif first.is_header:
        header = rows[0]
        if _are_row_names(header, rows[1:]):
            row_names = _warn_of_row_names(header, lines[0], report)
            header = [row_names, *header]
        names = check_names(header, lines[0], report)
        header_line, lines, rows = lines[0], lines[1:], rows[1:]
        if not rows:
            if not malformed:
                report.error("E306", "the file has a header but no rows", line=header_line)
            return None
        if not _header_fits(names, rows, header_line, report):
            return None
    lines, rows = _even_rows(lines, rows, names, report)
    if not rows:
        return None
    columns = [text_column(cells) for cells in zip(*rows, strict=True)]
    sound = not report.failed
    return RawTable(
        report.file,
        columns,
        names,
        lines,
        None,
        sound,
        first.doubt,
        row_names=row_names,
        delimiter=layout.delimiter,
    )


def _is_preamble(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row cannot be the header of the others: numbers, and another width."""
    widths = {len(row) for row in rows[1:]}
    other_width = len(widths) == 1 and widths != {len(rows[0])}
    return other_width and any(is_number(cell.strip()) for cell in rows[0])


def _are_row_names(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first column has no name and names the rows, as R's `write.table` writes it.

    Where every row ends with a delimiter, the last column is the one without a name.
    """
    if len(rows) < 2 or {len(row) for row in rows} != {len(header) + 1}:
        return False
    return len({row[0] for row in rows}) == len(rows) and any(row[-1].strip() for row in rows)


def _warn_of_row_names(header: Sequence[str], line: int, report: FileReport) -> str:
    """Warn of a column without a name (W314); return the name that it gets."""
    name = ROW_NAMES
    while name in header:
        name += "_"
    message = (
        f"the header names {counted(len(header), 'column')}, and every row has one cell more: "
        f"the first column is taken for the names of rows, and called `{name}`"
    )
    help = "if it is something else, name it in the header"
    report.sink.warning("W314", message, where=f"{report.file}:{line}", help=help)
    return name


def check_names(cells: Sequence[str], line: int, report: FileReport) -> tuple[str, ...]:
    """Return the names in a header, x0, x1, … for empty ones; report names that occur twice."""
    names = tuple(cell.strip() or default_name(i) for i, cell in enumerate(cells))
    for name, count in Counter(names).items():
        if count > 1:
            places = [i + 1 for i, other in enumerate(names) if other == name]
            message = f"{count} columns are named `{name}`: columns {listed(places)}"
            report.error("E313", message, line=line, help="give each column its own name")
    return names


def _why(error: csv.Error) -> str:
    """Return why the csv module rejected a row, in words about the file."""
    if is_unfinished(error):
        return "a quoted cell never ends"
    if "expected after" in str(error):
        return "text follows a closing quote"
    return str(error)


def _header_fits(
    names: tuple[str, ...], rows: list[list[str]], line: int, report: FileReport
) -> bool:
    """Report a header whose width differs from that of all rows, which agree with one another."""
    widths = {len(row) for row in rows}
    if len(widths) == 1 and widths != {len(names)}:
        cells = counted(len(rows[0]), "cell")
        message = f"the header names {counted(len(names), 'column')}, but every row has {cells}"
        help = "name each column once in the header"
        if widths == {len(names) + 1} and not any(row[-1].strip() for row in rows):
            help = "every row ends with a delimiter: remove it, or end the header with one as well"
        report.error("E303", message, line=line, help=help)
        return False
    return True


def _even_rows(
    lines: list[int], rows: list[list[str]], names: tuple[str, ...] | None, report: FileReport
) -> tuple[list[int], list[list[str]]]:
    """Return the rows of the expected width, and report the others.

    The expected width is that of the header or, without one, that of most rows.
    """
    widths = Counter(len(row) for row in rows)
    expected = len(names) if names is not None else widths.most_common(1)[0][0]
    if len(widths) == 1:
        return lines, rows
    rule = f"the header names {expected}" if names is not None else f"most rows have {expected}"
    for line, row in zip(lines, rows, strict=True):
        if len(row) != expected:
            message = f"this row has {counted(len(row), 'cell')}, but {rule}"
            report.error("E303", message, line=line, help=_ragged_hint(row, expected, names))
    even = [(line, row) for line, row in zip(lines, rows, strict=True) if len(row) == expected]
    return [line for line, _ in even], [row for _, row in even]


def _ragged_hint(row: list[str], expected: int, names: tuple[str, ...] | None) -> str:
    """Return advice about a row that is too long or too short."""
    if len(row) > expected:
        if len(row) == expected + 1 and not row[-1].strip():
            return "remove the delimiter at the end of the line"
        return "a cell that contains the delimiter must be quoted"
    absent = [f"`{names[i] if names else default_name(i)}`" for i in range(len(row), expected)]
    return f"no cell for {listed(absent, 4)}; leave a missing cell empty, or write `?`"
