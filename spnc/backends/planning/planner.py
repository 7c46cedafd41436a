"""The planner: finds the domains of a program over a table, and rewrites the program over them.

A *domain* is a set of distinct projections of the rows onto some columns. The factors of a product
are packed into groups with few projections, and each group becomes a product of its own: over 8,000
rows, eight binary factors then cost 8,000 + 256 · 8 multiplications instead of 8 · 8,000.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spnc.backends.planning.encoding import MIN_REDUCTION, EncodedTable
from spnc.backends.planning.kinds import LEAF, PRODUCT, SUM
from spnc.backends.planning.projections import (
    DENSE_KEYS,
    MAX_PROJECTIONS,
    first_of_each,
    first_rows,
    pack,
    project,
)
from spnc.backends.planning.shapes import ShapeList, Shapes, expand
from spnc.common.arrays import Ints

ROWS = 0  # the domain of whole rows

GROUP_LIMIT = 256  # projections of a group of factors, at most: they stay in the first-level cache
SMALL_DOMAIN = 16  # projections; products over a domain this small are not grouped any further
SCRATCH_ENTRIES = 4_000_000  # size of the table that numbers projections, at most
# Entries of the maps of groups, two bytes each, after which no more groups are made. Circuits of
# ten million edges whose products have no shapes in common would take several times as many.
GROUPED_ENTRIES = 1 << 30


class Domain:
    """Distinct projections onto `columns`, and a row of each (None for single columns)."""

    __slots__ = ("columns", "rows", "size")

    def __init__(self, columns: Ints, rows: Any, size: int) -> None:
        self.columns, self.rows, self.size = columns, rows, size


class Planner:
    """Rewrites a program over a table, as flat arrays. Nodes are numbered children first.

    Node n has a kind, a domain and, if it is a sum, a first weight slot (else -1). Its children are
    children[starts[n]:starts[n+1]]; the numbers of the maps through which they are read, or -1
    where none is needed, are in the same places of `child_maps`.
    """

    def __init__(self, encoded: EncodedTable) -> None:
        self.encoded, self.index, self.codes = encoded, encoded.index, encoded.codes
        self.states = encoded.sizes + 1  # a missing value is a state of its own here
        self.wide = encoded.wide
        self.row_count = encoded.rows
        self.all_rows = np.arange(self.row_count, dtype=np.uint32)
        all_columns = np.arange(len(self.states))
        self.domains = [Domain(all_columns, self.all_rows, self.row_count)]
        self.present: list[Ints] = []  # by column: the codes that occur; none if it is wide
        self._add_columns()

        self.maps: list[Any] = []  # map number -> entries; filled in at the end where shared
        self._wanted: dict[tuple[int, int], int] = {}  # (domain, domain) -> map number
        self._groups: dict[tuple[int, bytes], tuple[int, int]] = {}
        self._grouped_entries = 0
        self._scope_domains = self._find_scope_domains()

        self._shapes = ShapeList()
        self.root = self._rewrite()
        self._fill_maps()
        self._wanted.clear()
        self._groups.clear()

    # -- domains -------------------------------------------------------------------------------

    def _add_columns(self) -> None:
        """Make the domains of single columns: domain 1 + c has the codes that occur in column c.

        The domain of a wide column is empty, and never used.
        """
        for c, states in enumerate(self.states.tolist()):
            present = np.flatnonzero(np.bincount(self.codes[c], minlength=states))
            if self.wide[c]:
                present = present[:0]
            self.present.append(present)
            self.domains.append(Domain(np.array([c]), None, len(present)))

    def _find_scope_domains(self) -> list[int]:
        """Return the domain of every scope: its own if it has few projections, else ROWS.

        Scopes come smallest first: one that contains a scope with too many has too many as well,
        and so does one with a wide column.
        """
        index = self.index
        found: list[int] = []
        most = min(self.row_count // MIN_REDUCTION, MAX_PROJECTIONS)
        for scope in range(index.scope_count):
            part = index.scope_part[scope]
            if part >= 0 and found[part] == ROWS:
                found.append(ROWS)
                continue
            columns = index.scope_columns(scope)
            is_wide = bool(self.wide[columns].any())
            if len(columns) == 1:
                found.append(ROWS if is_wide else 1 + int(columns[0]))
                continue
            rows = None
            limit = min(most, SCRATCH_ENTRIES // int(self.states[columns].max()))
            if limit > 0 and not is_wide:
                rows = self._distinct(columns, limit)
            found.append(len(self.domains) if rows is not None else ROWS)
            if rows is not None:
                self.domains.append(Domain(columns, rows, len(rows)))
        return found

    def _distinct(self, columns: Ints, limit: int) -> Any:
        """Return the first row of each projection onto columns; None if there are above `limit`."""
        size = math.prod(self.states[columns].tolist())
        if size > DENSE_KEYS:
            ids = np.empty(self.row_count, dtype=np.uint16)
            count = project(self.codes, self.states, columns, self.all_rows, limit, ids)
            return first_rows(ids, count, self.all_rows) if count >= 0 else None
        possible = math.prod(len(self.present[c]) for c in columns.tolist())
        rows = np.empty(min(limit, possible), dtype=np.uint32)
        count = first_of_each(self.codes, self.states, columns, possible, limit, rows)
        return rows[:count].copy() if count >= 0 else None

    def _group(self, domain: int, columns: Ints) -> tuple[int, int]:
        """Return the domain of a group of factors read from `domain`, and the map into it."""
        key = (domain, columns.tobytes())
        found = self._groups.get(key)
        if found is None:
            rows = self.domains[domain].rows
            ids = np.empty(len(rows), dtype=np.uint16)
            count = project(self.codes, self.states, columns, rows, GROUP_LIMIT, ids)
            found = self._groups[key] = (len(self.domains), len(self.maps))
            self.domains.append(Domain(columns, first_rows(ids, count, rows), count))
            self.maps.append(ids)
            # The map into the group, and those from it into its factors: at most one per column.
            self._grouped_entries += len(ids) + count * len(columns)
        return found

    def _map(self, source: int, target: int) -> int:
        """Return the number of the map from a domain into one over some of its columns."""
        key = (source, target)
        if key not in self._wanted:
            self._wanted[key] = len(self.maps)
            self.maps.append(None)
        return self._wanted[key]

    def _fill_maps(self) -> None:
        """Fill in the maps into columns and scopes; each target is numbered only once."""
        sources: dict[int, list[int]] = {}
        for source, target in self._wanted:
            sources.setdefault(target, []).append(source)
        for target, asking in sources.items():
            domain = self.domains[target]
            others = [self.domains[source].size for source in asking if source != target]
            numbers = None  # of all rows, if more than a few of them are asked for
            if sum(others) > self.row_count // 2:
                numbers = self._numbers(target, self.all_rows)
            for source in asking:
                if source == target:  # below a product of one factor
                    own = np.arange(domain.size, dtype=np.uint16)
                elif numbers is None:
                    own = self._numbers(target, self.domains[source].rows)
                elif source == ROWS:
                    own = numbers
                else:
                    own = numbers[self.domains[source].rows]
                self.maps[self._wanted[source, target]] = own

    def _numbers(self, target: int, rows: Any) -> Any:
        """Return which projection in a domain over columns each of these rows has."""
        domain = self.domains[target]
        if target <= len(self.states):
            (c,) = domain.columns
            number = np.zeros(int(self.states[c]), dtype=np.uint16)
            number[self.present[c]] = np.arange(domain.size)
            return number[self.codes[c] if rows is self.all_rows else self.codes[c, rows]]
        # All rows begin with the first of each projection, or the domain's own are put before them.
        known = 0 if rows is self.all_rows else domain.size
        if known:
            rows = np.concatenate([domain.rows, rows])
        numbers = np.empty(len(rows), dtype=np.uint16)
        project(self.codes, self.states, domain.columns, rows, domain.size, numbers)
        return numbers[known:]

    # -- nodes ---------------------------------------------------------------------------------

    def _rewrite(self) -> int:
        """Make all nodes, and return the root, which is a row node."""
        index = self.index
        inner_kinds, inner_starts, _, inner_slots = index.inner_nodes
        shapes = self._shapes_of_products()
        shape_of, leaves = index.scopes.shapes, len(index.leaf_columns)
        is_sum = inner_kinds == SUM
        # The shape of a sum is -1, which finds what was appended.
        made = np.append(np.diff(shapes.nodes), 1)[shape_of]
        edges = np.append(np.diff(shapes.edges[shapes.nodes]), 0)[shape_of]
        edges[is_sum] = np.diff(inner_starts)[is_sum]
        last = np.cumsum(made) + leaves - 1
        firsts = last - made + 1
        number = np.concatenate([np.arange(leaves), last])
        root = int(number[index.program.root])
        count, edge_count = leaves + int(made.sum()), int(edges.sum())

        self.kinds = np.full(count, LEAF, dtype=np.uint8)
        self.node_domains = np.empty(count, dtype=np.int64)
        scope_domains = np.array(self._scope_domains, dtype=np.int64)
        self.node_domains[number] = scope_domains[index.scopes.of]
        self.starts = np.zeros(count + 1, dtype=np.int64)
        self.children = np.empty(edge_count, dtype=np.int64)
        self.child_maps = np.full(edge_count, -1, dtype=np.int64)
        expand(
            index.inner_nodes, shape_of, firsts, shapes, number,
            self.kinds, self.node_domains, self.starts, self.children, self.child_maps,
        )  # fmt: skip
        self.first_slots = np.full(count, -1, dtype=np.int64)
        self.first_slots[last[is_sum]] = inner_slots[inner_starts[:-1][is_sum]]
        if self.node_domains[root] != ROWS:
            root = self._add_row_product(root)
        return root

    def _shapes_of_products(self) -> Shapes:
        """Return how the products of each shape are rewritten."""
        index = self.index
        _, starts, children, _ = index.inner_nodes
        leaves, scopes = len(index.leaf_columns), index.scopes.of
        for model in index.scopes.models.tolist():
            domain = self._scope_domains[scopes[leaves + model]]
            factors = scopes[children[starts[model] : starts[model + 1]]].tolist()
            self._product(domain, list(enumerate(factors)))
            self._shapes.close()
        return self._shapes.flat()

    def _product(self, domain: int, factors: list[tuple[int, int]]) -> int:
        """Add a product over factors (position, scope), packed into groups if that saves work."""
        children: list[int] = []
        maps: list[int] = []
        for part in self._packed(domain, factors):
            if len(part) == 1:
                ((position, scope),) = part
                own = self._scope_domains[scope]
                children.append(position)
                maps.append(-1 if own == ROWS else self._map(domain, own))
            else:
                columns = self.index.union_columns([scope for _, scope in part])
                group, into = self._group(domain, columns)
                children.append(-1 - self._product(group, part))
                maps.append(into)
        return self._shapes.add(domain, children, maps)

    def _add_row_product(self, node: int) -> int:
        """Add a row node over a node with a domain of its own, and return it."""
        into = self._map(ROWS, int(self.node_domains[node]))
        self.kinds = np.append(self.kinds, np.uint8(PRODUCT))
        self.node_domains = np.append(self.node_domains, ROWS)
        self.children = np.append(self.children, node)
        self.child_maps = np.append(self.child_maps, into)
        self.starts = np.append(self.starts, len(self.children))
        self.first_slots = np.append(self.first_slots, -1)
        return len(self.kinds) - 1

    def _packed(self, domain: int, factors: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
        size = self.domains[domain].size
        alone = [[f] for f in factors]
        full = self._grouped_entries >= GROUPED_ENTRIES
        if size <= SMALL_DOMAIN or len(factors) < 3 or full:
            return alone
        limit = min(GROUP_LIMIT, size // MIN_REDUCTION)
        fits = [self.domains[self._scope_domains[scope]].size <= limit for _, scope in factors]
        # Scopes are numbered by size and then by columns: neighbours are packed together.
        small = sorted((f for f, fit in zip(factors, fits, strict=True) if fit), key=lambda f: f[1])
        if len(small) < 2:
            return alone
        starts, columns = self.index.scopes_columns([scope for _, scope in small])
        rows = self.domains[domain].rows
        groups = pack(self.codes, self.states, starts, columns, rows, limit).tolist()
        parts = [[f] for f, fit in zip(factors, fits, strict=True) if not fit]
        last = -1
        for factor, group in zip(small, groups, strict=True):
            if group != last:
                parts.append([])
                last = group
            parts[-1].append(factor)
        return parts
