"""Clients of serve.py: `serve_clients.py PORT CLIENTS SECONDS`, with a JSON list of trees as input.

Each client asks again as soon as it was answered. Prints percentiles of latencies as JSON. Of the
standard library alone, so that clients start at once and take little of the time of the server.
"""

import http.client
import json
import statistics
import subprocess
import sys
import threading
import time


def main(port: int, clients: int, seconds: float, trees: list[str]):
    bodies = [json.dumps({"tree": tree}) for tree in trees]
    latencies, start = [], time.perf_counter()

    def ask(client: int):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        position = client * len(bodies) // clients
        while (began := time.perf_counter()) < start + seconds:
            connection.request("POST", "/", bodies[position % len(bodies)])
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise RuntimeError(text.decode())
            latencies.append(time.perf_counter() - began)
            position += 1

    threads = [threading.Thread(target=ask, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    per_second = len(latencies) / (time.perf_counter() - start)
    percentiles = statistics.quantiles(latencies, n=100)
    found = {"p50_ms": 1000 * percentiles[49], "p99_ms": 1000 * percentiles[98]}
    print(json.dumps(found | {"trees_per_second": per_second}))


def measure(ports: dict[int, int], clients, seconds: float, trees: list[str]) -> list[dict]:
    """Prints a table of latencies, with clients in another process; returns its rows.

    Args:
      ports: Of servers, each by how many trees it answers at once.
      clients: How many ask at the same time.
      seconds: That each measurement takes.
      trees: As text.
    """
    rows = []
    print(f"{'clients':>7} {'at once':>8} {'p50 ms':>8} {'p99 ms':>8} {'trees/s':>8}")
    for number in clients:
        for at_once, port in ports.items():
            command = [sys.executable, __file__, str(port), str(number), str(seconds)]
            done = subprocess.run(
                command, input=json.dumps(trees), stdout=subprocess.PIPE, text=True, check=True
            )
            row = {"clients": number, "at_once": at_once} | json.loads(done.stdout)
            print("{:7} {:8} {:8.2f} {:8.2f} {:8.0f}".format(*row.values()), flush=True)
            rows.append(row)
    return rows


if __name__ == "__main__":
    port, clients, seconds = sys.argv[1:]
    main(int(port), int(clients), float(seconds), json.load(sys.stdin))
