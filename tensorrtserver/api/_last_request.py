"""What ``InferContext`` tells of its last request (docs/v1-behaviour.md §4.4)."""

from __future__ import annotations

from tritonclient_shim import notice


class LastRequest:
    """The getters of ``InferContext``, which inherits them, for its last request."""

    def _forget_last(self) -> None:
        self._last_request_id: int | None = None
        self._last_request_model_name: str | None = None
        self._last_request_model_version: int | None = None

    def get_last_request_id(self) -> int | None:
        """The id of the last request that was answered (docs/v1-behaviour.md §4.4).

        Deprecated [TS059], see migration_guide.md#what-the-last-request-was. Instead:
        infer(..., request_id=...): an id of your own; result.get_response() has it.

        Returns
        -------
        int or None
            A positive number, unique in this process and higher for later requests: v1's server
            numbered its requests, a v2 server does not (docs/v1-behaviour.md §4.5). None before
            the first answer and after a :meth:`run` that failed without one; 0 after a fetch that
            found its request not ready.
        """
        notice.used("TS059")
        return self._last_request_id

    def get_last_request_model_name(self) -> str | None:
        """The name of the model that answered the last request (docs/v1-behaviour.md §4.4).

        Deprecated [TS060], see migration_guide.md#what-the-last-request-was. Instead:
        result.get_response().model_name on gRPC, result.get_response()["model_name"] over
        HTTP.

        Returns
        -------
        str or None
            The name; None where no result has been read.
        """
        notice.used("TS060")
        return self._last_request_model_name

    def get_last_request_model_version(self) -> int | None:
        """The version of the model that answered the last request (docs/v1-behaviour.md §4.4).

        Deprecated [TS061], see migration_guide.md#what-the-last-request-was. Instead:
        result.get_response().model_version on gRPC,
        result.get_response()["model_version"] over HTTP.

        Returns
        -------
        int or None
            The version; -1 where the server's version is no number, such as ``v2.0``; None where
            no result has been read.
        """
        notice.used("TS061")
        return self._last_request_model_version
