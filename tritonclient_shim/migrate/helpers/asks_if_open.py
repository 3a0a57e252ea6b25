"""Helpers of files that ask if a context is open, in place of those of the same names."""


class InferModel:
    """A client that knows its model, with the methods of the context that it replaces."""

    def close(self):
        """Close the client. A closed object has none."""
        if self.client is not None:
            self.client.close()
        self.client = None
