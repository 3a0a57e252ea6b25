"""A Triton at fixed ports that tests kill, stop, continue and restart."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tensorrtserver.api import InferContext, InferenceServerException, ModelControlContext
from testbed import TritonServer, repository
from testbed.process import free_ports
from tests.infer_cases import wait_for
from tests.reliability.amounts import some
from tests.reliability.identified_calls import KINDS

MODEL = "identity_int32"
_BEHAVIOUR = Path(__file__).with_name("held_model.py")


class ServerProcess:
    """A server with one model. Tests delay its requests and change its files."""

    def __init__(self, folder: Path, name: str = MODEL) -> None:
        self._folder = folder
        self._ports = free_ports()
        self._changed = 0.0
        self._name = name
        self.model = folder / name
        self.write_model()
        self.start()

    def start(self) -> None:
        """Start a server, always at the same ports."""
        self.server = TritonServer.start([self._name], self._folder, ports=self._ports)

    def url(self, protocol: int) -> str:
        """Return the server's address."""
        return self.server.url(protocol)

    def opened(self, kind: str) -> InferContext:
        """Return a context of this kind for the model.

        A process keeps connections longer than contexts. Older versions of grpcio report a
        connection that ended with the previous test's server only at the next call.
        """
        protocol, streaming = KINDS[kind]
        for _ in range(50):
            try:
                return InferContext(self.url(protocol), protocol, self._name, streaming=streaming)
            except InferenceServerException as error:
                if not error.message().startswith("GRPC client failed: 14: "):
                    raise
            time.sleep(0.1)
        raise AssertionError("no context can be made for a server that runs")

    def write_model(self) -> None:
        """Write the original model."""
        shutil.rmtree(self.model, ignore_errors=True)
        repository.write(self._folder, [self._name])
        if self._name == MODEL:
            shutil.copy(_BEHAVIOUR, self.model / "1" / "model.py")
        self._mark_as_changed()

    def _mark_as_changed(self) -> None:
        """Give the configuration a new time, because the server compares whole seconds."""
        self._changed = max(self._changed + 2, time.time())
        os.utime(self.model / "config.pbtxt", (self._changed, self._changed))

    def change_model(self, old: str, new: str) -> None:
        """Replace text in the model's configuration, for the next load."""
        path = self.model / "config.pbtxt"
        text = path.read_text("utf-8")
        assert re.search(old, text), text
        path.write_text(re.sub(old, new, text), "utf-8")
        self._mark_as_changed()

    def hold(self) -> None:
        """Let requests wait in the model from now on."""
        (self.model / "arrived").unlink(missing_ok=True)
        (self.model / "hold").touch()

    def wait_for_request(self) -> None:
        """Return when a request waits in the model."""
        wait_for((self.model / "arrived").exists)

    def release(self) -> None:
        """Let requests be answered again."""
        (self.model / "hold").unlink(missing_ok=True)

    def kill(self) -> None:
        """End the server with SIGKILL."""
        os.kill(self.server.pid, signal.SIGKILL)
        wait_for(lambda: not self.server.running)

    def suspend(self) -> None:
        """Stop the server with SIGSTOP: its connections stay open, and nothing arrives on them."""
        os.kill(self.server.pid, signal.SIGSTOP)
        wait_for(self._stands)  # running threads continue for a moment

    def _stands(self) -> bool:
        """True if every thread of the server has stopped."""
        text = Path(f"/proc/{self.server.pid}/task").glob("*/stat")
        return all(item.read_text("utf-8").rpartition(") ")[2][0] == "T" for item in text)

    def resume(self) -> None:
        """Let a stopped server continue."""
        os.kill(self.server.pid, signal.SIGCONT)

    def kill_stub(self) -> None:
        """Kill the processes where the server runs the model."""
        for pid in self.stubs():
            os.kill(pid, signal.SIGKILL)

    def stubs(self) -> list[int]:
        """Return the processes where the server runs models."""
        result = []
        for text in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, _, rest = text.read_text("utf-8").rpartition(")")
            except OSError:
                continue  # it has ended
            if int(rest.split()[1]) == self.server.pid and "triton_python" in name:
                result.append(int(name.split(" ")[0]))
        return result

    def load(self) -> None:
        """Load or reload the model."""
        with ModelControlContext(self.server.http, 0) as control:
            control.load(self._name)

    def unload(self) -> None:
        """Unload the model. Its requests may still be running."""
        with ModelControlContext(self.server.http, 0) as control:
            control.unload(self._name)

    def restore(self) -> None:
        """Let the server run and answer, after a test that stopped or killed it."""
        self.release()
        if self.server.running:
            self.resume()
        else:
            self.start()

    def close(self) -> None:
        """End the server."""
        self.server.kill()


def some_of(events: Any) -> pytest.MarkDecorator:
    """Return parameters of a test: every kind of context and event, or all events of one kind."""
    rows = [
        (place + turn, kind, name)
        for place, name in enumerate(events)
        for turn, kind in enumerate(some(list(KINDS), "kinds and styles", place))
    ]
    names = [f"{kind}-{name}" for _, kind, name in rows]
    return pytest.mark.parametrize(("number", "kind", "name"), rows, ids=names)
