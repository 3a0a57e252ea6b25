"""Helpers of programs that ask for no classes, in place of those of the same names."""

RAW = 0  # the format of an output: an array


def rows_of(reply, outputs, batches):
    """Return the arrays of the outputs for each entry of the batch."""
    arrays = {name: reply.as_numpy(name).copy() for name in outputs}
    return {name: list(array) if batches else [array] for name, array in arrays.items()}
