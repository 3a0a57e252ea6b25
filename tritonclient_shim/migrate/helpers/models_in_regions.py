"""Helpers of files whose objects use shared memory, in place of those of the same names."""

from tritonclient_shim.migrate.helpers.memory import infer_in_regions
from tritonclient_shim.migrate.helpers.requests import FLAG_SEQUENCE_END, FLAG_SEQUENCE_START


class InferModel:
    """A client that knows its model, with the methods of the context that it replaces."""

    def run(self, inputs, outputs, batch_size=1, flags=0, corr_id=0, priority=0, timeout_us=None):
        """Infer with regions, or with an array for each entry of the batch."""
        if corr_id:  # it is that of later requests, too
            self.options["sequence_id"] = int(corr_id)
        options = {**self.options, "priority": priority, "timeout": timeout_us}
        options["sequence_start"] = bool(flags & FLAG_SEQUENCE_START)
        options["sequence_end"] = bool(flags & FLAG_SEQUENCE_END)
        return infer_in_regions(self.client, self.name, inputs, outputs, batch_size, **options)
