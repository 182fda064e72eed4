"""Workers that stay from cell to cell: most of what a system needs to start is its imports."""

import collections

from benchmarks.workers import Worker


class Crew:
    """Workers by the peer that they run; a context manager, which ends them.

    Args:
      hire: Makes a worker, of the number of threads.
    """

    def __init__(self, hire=Worker):
        self._hire = hire
        self._workers: dict = {}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for worker in self._workers.values():
            worker.close()

    def starter(self, peers):
        """What `harness.measure` is to start workers with, for contenders of these peers.

        A peer with several contenders has a worker for each.
        """
        places = iter(_numbered(peers))

        def start(threads):
            place = (*next(places), threads)
            if place not in self._workers or not self._workers[place].alive:
                self._workers[place] = self._hire(threads)
            return _Lent(self._workers[place])

        return start


class _Lent:
    """A worker that is not ended when it is closed, unless it ended itself."""

    def __init__(self, worker):
        self._worker = worker
        self.close = worker.stop

    def __getattr__(self, name):
        return getattr(self._worker, name)


def _numbered(names):
    seen = collections.Counter()
    for name in names:
        yield name, seen[name]
        seen[name] += 1
