"""An nginx in front of a server's HTTP port, as people run it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import pytest

from testbed.process import free_ports

PATIENCE = 20.0

CONFIG = """
user {user};
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_max_body_size 0; client_body_temp_path {folder};
  proxy_temp_path {folder}; fastcgi_temp_path {folder}; uwsgi_temp_path {folder};
  scgi_temp_path {folder};
  {http}
  server {{ listen 127.0.0.1:{port}{listen}; {server} }}
}}
"""


@contextmanager
def nginx(folder: Path, server: str, listen: str = "", http: str = "") -> Iterator[str]:
    """Yield the address of an nginx with these directives in its ``server``, as soon as it listens.

    ``http`` are directives beside it.
    """
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        pytest.skip("nginx is not installed (apt-get install nginx-light)")
    port = free_ports()[0]
    config = folder / "nginx.conf"
    # root's nginx would become another user, who cannot write into this folder
    user = pwd.getpwuid(os.getuid()).pw_name
    fields = {
        "user": user,
        "folder": folder,
        "port": port,
        "listen": listen,
        "server": server,
        "http": http,
    }
    config.write_text(CONFIG.format(**fields))
    process = subprocess.Popen([program, "-p", str(folder), "-c", str(config)])
    try:
        _until_it_listens(process, port)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), PATIENCE).close()
            return
        except ConnectionRefusedError:
            assert process.poll() is None, "nginx has ended: its output says why"
            assert time.monotonic() < deadline, "nginx does not listen"
            time.sleep(0.05)
