"""Objects that know their model, where a call of a function would not."""

from tritonclient_shim.rewrite.helpers.requests import infer, infer_classes


class InferModel:
    """A client that knows its model, with the methods of the context that it replaces."""

    infer = staticmethod(infer)

    def __init__(self, client, name, **options):
        self.client, self.name, self.options = client, name, options
        client.get_model_config(name)  # raises an error if the server lacks the model

    def run(self, inputs, outputs, batch_size=1, flags=0, corr_id=0, priority=0, timeout_us=None):
        """Infer with an array for each entry of the batch."""
        options = {**self.options, "priority": priority, "timeout": timeout_us}
        options["sequence_id"] = int(corr_id or self.correlation_id())
        options.update(sequence_start=bool(flags & 1), sequence_end=bool(flags & 2))
        return self.infer(self.client, self.name, inputs, outputs, **options)

    def correlation_id(self):
        """Return the sequence of the requests, 0 for none."""
        return self.options.get("sequence_id", 0)

    def close(self):
        """Close the client."""
        if self.client is not None:
            self.client.close()
        self.client = None

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()


class ClassModel(InferModel):
    """A model whose outputs can be classes."""

    infer = staticmethod(infer_classes)
