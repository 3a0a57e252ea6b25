"""Helpers of files whose requests have no options, in place of those of the same names."""

from tritonclient_shim.migrate.helpers.requests import infer


class InferModel:
    """A client that knows its model, with the methods of the context that it replaces."""

    def __init__(self, client, name, function=infer, **options):
        self.client, self.name, self.function, self.options = client, name, function, options
        client.get_model_config(name)  # raises an error if the server lacks the model

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()

    def run(self, inputs, outputs, batch_size=1):
        """Infer with an array for each entry of the batch."""
        return self.function(self.client, self.name, inputs, outputs, **self.options)

    def close(self):
        """Close the client."""
        if self.client is not None:
            self.client.close()
        self.client = None
