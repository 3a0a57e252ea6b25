"""Helpers of files whose requests have no options, in place of those of the same names."""

from tritonclient_shim.migrate.helpers.requests import infer


class InferModel:
    """A client that knows its model, with the methods of the context that it replaces."""

    def run(self, inputs, outputs, batch_size=1):
        """Infer with an array for each entry of the batch."""
        return infer(self.client, self.name, inputs, outputs, **self.options)
