"""Helpers of files that ask for no reports on requests, in place of those of the same names."""

from tritonclient_shim.migrate.helpers.requests import cached_config


class InferModel:
    """A client that knows its model, with the methods of the context that it replaces."""

    def __init__(self, client, name, **options):
        self.client = client
        self.name = name
        self.options = options
        cached_config(client, name)  # raises an error if the server lacks the model
