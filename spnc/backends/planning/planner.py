"""Planning: which domains there are, and the program rewritten over them.

The factors of a product are packed into groups with few projections, each a product of its own:
over 8,000 rows, eight binary factors then cost 8,000 multiplications and 256 · 8, not 8 · 8,000.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spnc.backends.planning.plan import LEAF, PRODUCT, SUM, Codes
from spnc.backends.planning.projections import LARGEST, pack, project, representatives
from spnc.backends.planning.skeleton import Skeleton
from spnc.common.arrays import Ints

ROWS = 0  # the domain of whole rows

GROUP_LIMIT = 256  # projections of a group of factors: a table that stays in the first cache
SHARE = 3  # a domain is worth having when it is so many times smaller than what reads it
SMALL = 16  # products over so few projections are not grouped any further
SCRATCH = 4_000_000  # entries of the table that numbers projections


class Domain:
    """Distinct projections; `rows` has a row for each, except for the codes of a column."""

    __slots__ = ("columns", "rows", "size")

    def __init__(self, columns: Ints, rows: Any, size: int) -> None:
        self.columns, self.rows, self.size = columns, rows, size


class Planner:
    """Rewrites a program over a table. Nodes are numbered as they are made, children first."""

    def __init__(self, skeleton: Skeleton, codes: Codes) -> None:
        self.skeleton, self.codes = skeleton, codes
        self.states = skeleton.states + 1  # a missing value is a state of its own here
        self.row_count = codes.shape[1]
        self.all_rows = np.arange(self.row_count, dtype=np.uint32)
        all_columns = np.arange(len(self.states))
        self.domains = [Domain(all_columns, self.all_rows, self.row_count)]
        self.present: list[Ints] = []  # of every column: the codes that occur
        self._add_columns()

        self.maps: list[Any] = []  # map number -> entries; filled in at the end where shared
        self._wanted: dict[tuple[int, int], int] = {}  # (domain, domain) -> map number
        self._groups: dict[tuple[int, bytes], tuple[int, int]] = {}
        self._packings: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        self._scope_domains = self._find_scope_domains()

        self.kinds: list[int] = []
        self.node_domains: list[int] = []
        self.children: list[list[int]] = []
        self.child_maps: list[list[int]] = []  # -1: none is needed
        self.first_slots: list[int] = []  # below sums; else -1
        self.root = self._rewrite()
        self._fill_maps()

    # -- domains -------------------------------------------------------------------------------

    def _add_columns(self) -> None:
        """Domain 1 + c is that of column c: the codes that occur, by rank."""
        for c, states in enumerate(self.states.tolist()):
            present = np.flatnonzero(np.bincount(self.codes[c], minlength=states))
            self.present.append(present)
            self.domains.append(Domain(np.array([c]), None, len(present)))

    def _find_scope_domains(self) -> list[int]:
        """For every scope of the program: its own domain if it has few projections, or the rows.

        Scopes come smallest first: one that contains a scope with too many has too many as well.
        """
        skeleton = self.skeleton
        found: list[int] = []
        ids = np.empty(self.row_count, dtype=np.uint16)
        for scope in range(skeleton.scope_count):
            columns, part = skeleton.scope_columns(scope), skeleton.scope_part[scope]
            if len(columns) == 1:
                found.append(1 + int(columns[0]))
                continue
            limit = min(self.row_count // SHARE, LARGEST, SCRATCH // int(self.states.max()))
            count = -1
            if limit > 0 and not (part >= 0 and found[part] == ROWS):
                count = project(self.codes, self.states, columns, self.all_rows, limit, ids)
            found.append(len(self.domains) if count >= 0 else ROWS)
            if count >= 0:
                rows = representatives(ids, count, self.all_rows)
                self.domains.append(Domain(columns, rows, count))
        return found

    def _group(self, domain: int, columns: Ints) -> tuple[int, int]:
        """The domain of a group of factors read from `domain`, and the map into it."""
        key = (domain, columns.tobytes())
        found = self._groups.get(key)
        if found is None:
            rows = self.domains[domain].rows
            ids = np.empty(len(rows), dtype=np.uint16)
            count = project(self.codes, self.states, columns, rows, GROUP_LIMIT, ids)
            found = self._groups[key] = (len(self.domains), len(self.maps))
            self.domains.append(Domain(columns, representatives(ids, count, rows), count))
            self.maps.append(ids)
        return found

    def _map(self, source: int, target: int) -> int:
        """The map from one domain into another, which speaks about no other columns."""
        key = (source, target)
        if key not in self._wanted:
            self._wanted[key] = len(self.maps)
            self.maps.append(None)
        return self._wanted[key]

    def _fill_maps(self) -> None:
        """The maps into columns and scopes: each target is numbered once for all who asked."""
        sources: dict[int, list[int]] = {}
        for source, target in self._wanted:
            sources.setdefault(target, []).append(source)
        for target, asking in sources.items():
            domain = self.domains[target]
            if target <= len(self.states):
                (c,) = domain.columns
                numbers = np.searchsorted(self.present[c], self.codes[c]).astype(np.uint16)
            else:
                numbers = np.empty(self.row_count, dtype=np.uint16)
                project(
                    self.codes, self.states, domain.columns, self.all_rows, domain.size, numbers
                )
            for source in asking:
                if source == target:  # below a product of one factor
                    own = np.arange(domain.size, dtype=np.uint16)
                else:
                    own = numbers[self.domains[source].rows]
                self.maps[self._wanted[source, target]] = own

    # -- nodes ---------------------------------------------------------------------------------

    def _rewrite(self) -> int:
        """Make all nodes; the answer is the root, which is a row node."""
        skeleton, scopes = self.skeleton, self.skeleton.scope_of
        number = np.empty(skeleton.program.nodes, dtype=np.int64)
        for leaf, column in enumerate(skeleton.leaf_columns.tolist()):
            number[leaf] = self._add(LEAF, 1 + column, [], [])
        for n, is_sum, children, slot in skeleton.inner():
            domain = self._scope_domains[scopes[n]]
            own = number[children].tolist()
            if is_sum:
                number[n] = self._add(SUM, domain, own, [-1] * len(own), slot)
            else:
                factors = [(c, scopes[old]) for c, old in zip(own, children.tolist(), strict=True)]
                number[n] = self._product(domain, factors)
        root = int(number[skeleton.program.root])
        if self.node_domains[root] != ROWS:
            root = self._add(PRODUCT, ROWS, [root], [self._map(ROWS, self.node_domains[root])])
        return root

    def _add(
        self, kind: int, domain: int, children: list[int], maps: list[int], slot: int = -1
    ) -> int:
        self.kinds.append(kind)
        self.node_domains.append(domain)
        self.children.append(children)
        self.child_maps.append(maps)
        self.first_slots.append(slot)
        return len(self.kinds) - 1

    def _product(self, domain: int, factors: list[tuple[int, int]]) -> int:
        """A product over factors (node, scope), packed into groups where that saves work."""
        children: list[int] = []
        maps: list[int] = []
        for part in self._packed(domain, factors):
            if len(part) == 1:
                ((node, _),) = part
                own = self.node_domains[node]
                children.append(node)
                maps.append(-1 if own == ROWS else self._map(domain, own))
            else:
                columns = self.skeleton.union_columns([scope for _, scope in part])
                group, into = self._group(domain, columns)
                children.append(self._product(group, part))
                maps.append(into)
        return self._add(PRODUCT, domain, children, maps)

    def _packed(self, domain: int, factors: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
        size = self.domains[domain].size
        alone = [[f] for f in factors]
        if size <= SMALL or len(factors) < 3:
            return alone
        limit = min(GROUP_LIMIT, size // SHARE)
        fits = [self.domains[self.node_domains[node]].size <= limit for node, _ in factors]
        # Scopes are numbered by size and then by columns: neighbours are packed together.
        small = sorted((f for f, fit in zip(factors, fits, strict=True) if fit), key=lambda f: f[1])
        if len(small) < 2:
            return alone
        groups = self._packing(domain, tuple(scope for _, scope in small), limit)
        parts = [[f] for f, fit in zip(factors, fits, strict=True) if not fit]
        last = -1
        for factor, group in zip(small, groups, strict=True):
            if group != last:
                parts.append([])
                last = group
            parts[-1].append(factor)
        return parts

    def _packing(self, domain: int, scopes: tuple[int, ...], limit: int) -> list[int]:
        """Which group each of these scopes is in. Components that are alike ask this often."""
        found = self._packings.get((domain, scopes))
        if found is None:
            starts, columns = self.skeleton.scopes_columns(scopes)
            rows = self.domains[domain].rows
            found = pack(self.codes, self.states, starts, columns, rows, limit).tolist()
            self._packings[domain, scopes] = found
        return found
