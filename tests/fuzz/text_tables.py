"""Tables as text: CSV, TSV and their relatives, JSON lines; plain and compressed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path
from random import Random

from tests.fuzz.harness import Harness, Input
from tests.fuzz.mutation import mutated_text
from tests.fuzz.table_reading import check_table

_MADE = (
    (".csv", b"a,b,c\n1,x,2020-01-31\n0,y,2021-02-28\n1,,2022-12-01\n"),
    (".csv", "größe;datum;preis\n1,5;31.01.2020;1.000,50\n2,5;01.02.2020;3,00\n".encode()),
    (".csv", b'"a ""quoted"" name","two\nlines"\n"1","2"\n"3","4"\n'),
    (".csv", b"\xef\xbb\xbfa,b\r\n1,2\r\n3,4\r\n"),
    (".csv", "a,b\n1,2\n3,4\n".encode("utf-16")),
    (".csv", b"# a comment\n\na b\n1 2\n3 4\n"),
    (".tsv", b"a\tb\tc\n1\t2.5\tno\n2\t3.5\tyes\n\t4.5\tno\n"),
    (".txt", b"  a   b\n1 0.5 1e3\n2 0.25 -1e-3\n"),
    (".data", b"0,1,0\n1,1,0\n0,0,1\n"),
    (".jsonl", b'{"a": 1, "b": "x"}\n{"a": 2.5, "c": "2020-01-31"}\n{"a": null, "b": "y"}\n'),
    (".jsonl", b'{"a": 9007199254740993, "b": [1, 2]}\n{"a": 1, "b": {"c": true}}\n'),
    (".json", b'[{"a": true, "b": 1.5}, {"a": false, "b": null}]'),
)
_WORDS = (
    *(b",", b";", b"\t", b"|", b'"', b'""', b"'", b"\n", b"\r", b"\n\n", b"NA", b"?", b"-", b"nan"),
    *(b"True", b"no", b"007", b"1e5", b"$1", b"10 mm", b"31.01.2020", b"01/31/2020", b"12:30:00"),
    *(b"2020-01-31T12:00:00+02:00", b"1e400", b"0x1F", b"1.797e308", b"\xa0", b"#", b'{"a":', b"}"),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\\u0000", b"\\ud800", b"a", b"b", b"x", b"Infinity", b"\x1a"),
)


class TextTables(Harness):
    """A table is read, summarised, and read again with the columns that were found."""

    name = "csv"
    endings = (".csv", ".tsv", ".txt", ".data", ".jsonl", ".json", ".csv.gz")

    def seeds(self) -> Iterable[Input]:
        """Return the tables of the repository, and one of every layout."""
        yield from self.files("tests/golden/*/data/*", "specs/data/*", "tests/golden/bad/cases/*")
        yield from (Input(ending, content) for ending, content in _MADE)
        yield Input(".csv.gz", gzip.compress(_MADE[0][1], mtime=0))

    def mutated(self, given: Input, random: Random) -> bytes:
        """Return the table with changed characters and cells; often those inside a gzip file."""
        if given.ending == ".csv.gz" and random.random() < 0.7:
            try:
                inside = gzip.decompress(given.content)
                return gzip.compress(mutated_text(inside, random, _WORDS), mtime=0)
            except (OSError, EOFError, ValueError, zlib.error):
                pass
        return mutated_text(given.content, random, _WORDS)

    def read(self, path: Path) -> None:
        """Read a table, as `spnc data show` and then `spnc eval` do."""
        check_table(path)
