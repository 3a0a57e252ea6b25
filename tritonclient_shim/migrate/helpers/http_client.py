"""A client over HTTP for programs that catch errors of clients."""

from http.client import HTTPException

import tritonclient.http as httpclient
from tritonclient.utils import InferenceServerException


class HttpClient(httpclient.InferenceServerClient):
    """A client that raises InferenceServerException if its connection fails, as over gRPC."""

    def _get(self, *arguments, **options):
        try:
            return super()._get(*arguments, **options)
        except (OSError, HTTPException) as error:
            raise InferenceServerException(str(error)) from error

    def _post(self, *arguments, **options):
        try:
            return super()._post(*arguments, **options)
        except (OSError, HTTPException) as error:
            raise InferenceServerException(str(error)) from error
