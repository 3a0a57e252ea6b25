"""Helpers of files that call ``connect``, which imports both modules of tritonclient."""

import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient


def module_of(client):
    """Return tritonclient's module for the protocol of a client."""
    return httpclient if "http" in client.get_model_config.__module__ else grpcclient
