"""A relay of TCP on loopback: a client that connects to port LISTEN talks to port TARGET. It is a separate program, so
that it can run in a network namespace:   proxy.py LISTEN TARGET"""

import socket
import sys
import threading


def pump(source, sink):
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def relay(near, target):
    try:
        far = socket.create_connection(("127.0.0.1", target), 5)
    except OSError:
        near.close()
        return
    far.settimeout(None)
    for end in (near, far):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=pump, args=(near, far), daemon=True).start()
    pump(far, near)


def serve(port, target):
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    while True:
        near, _ = listener.accept()
        threading.Thread(target=relay, args=(near, target), daemon=True).start()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
