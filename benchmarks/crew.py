"""Workers that are kept from cell to cell, since starting a system is mostly importing it."""

import collections

from benchmarks.workers import Worker


class Crew:
    """Workers by the peer that they run; a context manager, which ends them.

    Args:
      hire: Makes a worker with a number of threads.
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
        """A function with which `harness.measure` starts workers for contenders of these peers.

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
    """A worker that stays when it is closed, unless it has ended itself."""

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
