"""What one nats-server carries on this machine, with those who send and hear beside it: `python3 supervisor/benches/fleet/nats.py`.

Pairs of one sender and one listener, each a process with a connection of its own; a sender writes 64 KiB at a time, so that the server is what is measured. Then a round trip of 100 bytes between two clients, one after the
other: what a call of a body on a fleet cannot be below.
"""
import os
import shutil
import socket
import subprocess
import time

MESSAGES = {100: 600_000, 300: 600_000, 4_096: 100_000}
ROUND_TRIPS = 5_000


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def connected(port):
    stream = socket.create_connection(("127.0.0.1", port))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.recv(65536)
    stream.sendall(b'CONNECT {"verbose":false,"pedantic":false}\r\nPING\r\n')
    while b"PONG" not in stream.recv(65536):
        pass
    return stream


def listening(port, subject):
    stream = connected(port)
    stream.sendall(b"SUB %s 1\r\nPING\r\n" % subject)
    stream.recv(100)
    return stream


def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid


def rate(port, size, pairs):
    """Messages a second that go in; as many come out."""
    each = MESSAGES[size] // pairs
    subjects = [b"codemode.runs.g.gateway-1.%032x" % pair for pair in range(pairs)]
    ready, told = os.pipe()

    def hear(subject):
        stream, buffer = listening(port, subject), bytearray(1 << 20)
        left = each * (len(b"MSG %s 1 %d\r\n" % (subject, size)) + size + 2)
        os.write(told, b"r")
        while left > 0:
            left -= stream.recv_into(buffer)

    def send(subject):
        stream, one = connected(port), b"PUB %s %d\r\n" % (subject, size) + b"x" * size + b"\r\n"
        left, together = each, max(1, 65536 // len(one))
        while left > 0:
            stream.sendall(one * min(together, left))
            left -= together
        stream.sendall(b"PING\r\n")
        stream.recv(1000)

    children = [child(lambda subject=subject: hear(subject)) for subject in subjects]
    for _ in children:
        os.read(ready, 1)
    began = time.time()
    children += [child(lambda subject=subject: send(subject)) for subject in subjects]
    for pid in children:
        os.waitpid(pid, 0)
    return each * pairs / (time.time() - began)


def round_trips(port):
    """Milliseconds, sorted."""
    here, there = b"codemode.runs.g.gateway-1." + b"0" * 32, b"codemode.runs.w.worker-1." + b"0" * 32
    text = b"x" * 100 + b"\r\n"

    def answer():
        stream = listening(port, there)
        while got := stream.recv(65536):
            if b"MSG" in got:
                stream.sendall(b"PUB %s 100\r\n" % here + text)

    pid = child(answer)
    stream, took = listening(port, here), []
    time.sleep(0.3)
    for _ in range(ROUND_TRIPS):
        began, got = time.perf_counter(), b""
        stream.sendall(b"PUB %s 100\r\n" % there + text)
        while not got.endswith(text):
            got += stream.recv(65536)
        took.append((time.perf_counter() - began) * 1000)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return sorted(took)


def main():
    program = shutil.which("nats-server") or "/usr/sbin/nats-server"
    port = free_port()
    server = subprocess.Popen([program, "-a", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        for size in MESSAGES:
            for pairs in (1, 2):
                rates = sorted(rate(port, size, pairs) for _ in range(3))
                print(f"{size} bytes, {pairs} pairs: {', '.join(f'{rate / 1000:.0f}' for rate in rates)} thousand a second in, and as many out", flush=True)
        took = round_trips(port)
        print(f"round trip: {took[len(took) // 2]:.2f} ms, nine of ten within {took[len(took) * 9 // 10]:.2f} ms")
    finally:
        server.terminate()
        server.wait()


main()
