"""A client over HTTP for programs that catch errors of clients."""

import io
from http.client import HTTPException

import tritonclient.http as httpclient
from tritonclient.utils import InferenceServerException


class WholeReply:
    """A reply over HTTP whose body has come. A server's is JSON, or begins with it."""

    def __init__(self, reply):
        self.reply = reply
        content = reply.read()
        if reply.status_code == 200 and content[:1] not in (b"", b"{", b"["):
            raise InferenceServerException(f"the reply is no JSON: {content[:80]}")
        self.body = io.BytesIO(content)

    def __getattr__(self, name):
        return getattr(self.reply, name)

    def read(self, length=None):
        """Return the rest of the body, or a part of it."""
        return self.body.read(length)


class HttpClient(httpclient.InferenceServerClient):
    """A client that raises InferenceServerException if its connection fails, as over gRPC."""

    def _get(self, *arguments, **options):
        try:
            return WholeReply(super()._get(*arguments, **options))
        except (OSError, HTTPException) as error:
            raise InferenceServerException(str(error)) from error

    def _post(self, *arguments, **options):
        try:
            return WholeReply(super()._post(*arguments, **options))
        except (OSError, HTTPException) as error:
            raise InferenceServerException(str(error)) from error
