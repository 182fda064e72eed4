"""Lines between the operators of a picture that cross none of them.

An operator stands in the middle of a cell of a grid. Lines run in the gaps between the columns, and
between the rows, of the operators: out of one to the right, along a gap to the row of the other,
and into that from the left. Lines from one operator run together as far as they can.
"""

import collections
import dataclasses

Line = list[tuple[float, float]]  # Corners, in cells.


@dataclasses.dataclass(frozen=True)
class Link:
    """An operator that waits for another: the numbers and the places of both."""

    source: int
    target: int
    begin: tuple[int, int]
    end: tuple[int, int]


def lines_between(links: list[Link], width: float, height: float) -> list[Line]:
    """A line for each link between operators of this width and height in cells of 1 x 1."""
    tracks = _Tracks(1 - width, 1 - height)
    for link in links:
        tracks.add(link, _gap_between_rows(link))
    entries = _entries(links, height)
    return [tracks.line(link, entries[link], width) for link in links]


def _gap_between_rows(link: Link) -> int | None:
    """The gap above row n that a link runs along; None if it reaches the next column only."""
    (x, y), (end_x, end_y) = link.begin, link.end
    if end_x == x + 1:
        return None
    return end_y if y < end_y or (y == end_y and y > 0) else end_y + 1


def _entries(links, height) -> dict[Link, float]:
    """Where each link enters its target: the links of one target, from top to bottom."""
    by_target, entries = collections.defaultdict(list), {}
    for link in links:
        by_target[link.target].append(link)
    for own in by_target.values():
        own.sort(key=lambda link: (link.begin[1], link.begin[0]))
        for i, link in enumerate(own):
            entries[link] = link.end[1] + 0.5 + height * ((i + 1) / (len(own) + 1) - 0.5)
    return entries


class _Tracks:
    """The tracks of lines that share a gap: one for each source."""

    def __init__(self, between_columns: float, between_rows: float):
        self._sizes = {"column": between_columns, "row": between_rows}
        self._spans = collections.defaultdict(dict)  # By gap and source: from where to where.
        self._row_gaps = {}

    def add(self, link: Link, row_gap: int | None) -> None:
        self._row_gaps[link] = row_gap
        (x, y), (end_x, end_y) = link.begin, link.end
        if row_gap is None:
            self._take(("column", end_x), link.source, y, end_y + 1)
        else:
            self._take(("column", x + 1), link.source, min(y, row_gap), max(y + 1, row_gap))
            self._take(("row", row_gap), link.source, x + 1, end_x)
            self._take(("column", end_x), link.source, *sorted((row_gap, end_y)))

    def _take(self, gap, source, first, last):
        old = self._spans[gap].get(source, (first, last))
        first, last = min(first, last), max(first, last)
        self._spans[gap][source] = (min(old[0], first), max(old[1], last))

    def line(self, link: Link, entry: float, width: float) -> Line:
        (x, y), (end_x, _) = link.begin, link.end
        begin = (x + (1 + width) / 2, y + 0.5)
        end = (end_x + (1 - width) / 2, entry)
        row_gap, source = self._row_gaps[link], link.source
        last = self._place(("column", end_x), source)
        if row_gap is None:
            return _without_repeats([begin, (last, begin[1]), (last, entry), end])
        first = self._place(("column", x + 1), source)
        row = self._place(("row", row_gap), source)
        corners = [begin, (first, begin[1]), (first, row), (last, row), (last, entry), end]
        return _without_repeats(corners)

    def _place(self, gap, source) -> float:
        kind, number = gap
        tracks, count = self._assigned(gap)
        return number + self._sizes[kind] * ((tracks[source] + 1) / (count + 1) - 0.5)

    def _assigned(self, gap):
        """The track of each source, and the number of tracks: lines that do not meet share one."""
        tracks, ends = {}, []
        for source, (first, last) in sorted(self._spans[gap].items(), key=lambda item: item[1]):
            free = [i for i, end in enumerate(ends) if end < first]
            track = free[0] if free else len(ends)
            ends[track : track + 1] = [last]
            tracks[source] = track
        return tracks, len(ends)


def _without_repeats(corners: Line) -> Line:
    return [c for i, c in enumerate(corners) if i == 0 or c != corners[i - 1]]
