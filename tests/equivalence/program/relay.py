"""Forward connections to a server, and cut them on request."""

import socket
import threading
from contextlib import suppress


class Relay:
    """A relay that cuts its connections on request, and forwards new connections."""

    def __init__(self, url):
        host, port = url.split("://")[-1].rsplit(":", 1)
        self._target, self._sockets = (host, int(port)), []
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(16)
        self.url = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._start(self._accept)

    def cut(self):
        while self._sockets:
            _end(self._sockets.pop())

    def _accept(self):
        while True:
            near, far = self._listener.accept()[0], socket.create_connection(self._target)
            self._sockets += [near, far]
            self._start(_forward, near, far)
            self._start(_forward, far, near)

    def _start(self, work, *args):
        thread = threading.Thread(target=work, args=args)
        thread.daemon = True
        thread.start()


def _forward(source, sink):
    with suppress(OSError):
        for data in iter(lambda: source.recv(65536), b""):
            sink.sendall(data)
    _end(sink)


def _end(connection):
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
