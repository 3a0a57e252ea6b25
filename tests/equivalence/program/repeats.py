"""Make requests from an earlier request: with other data, or with a small change too."""

import numpy as np
from recorder import CLASS, RAW

#: Type → types of equal size. The bytes of an array are sent as they are.
TWINS = {
    "int32": ["float32", "uint32", ">i4"],
    "float32": ["int32", "uint32", ">f4"],
    "int64": ["float64", "uint64", ">i8"],
    "float64": ["int64", ">f8"],
    "float16": ["int16", ">f2"],
    "uint8": ["int8", "bool"],
    "bool": ["uint8", "int8"],
}
RAWS = ((1,), [1], (1.0,), (True,), (np.int32(1),), RAW)
NEARLY = ("dtype", "memory", "shape", "lists", "keys", "formats", "batch", "scalars")


class Repeats:
    """Methods that make requests from an earlier request. ``arguments()`` returns a request."""

    def again(self, request, exactly=False):
        """Return a request with other data. If it succeeded, perhaps change it further."""
        (inputs, outputs, more), good = request
        changed = {key: self.fresh(value) for key, value in inputs.items()}
        result = changed, outputs, dict(more)
        if good and not exactly and self.dice.chance(0.4):  # one trouble at a time
            result = getattr(self, "other_" + self.dice.pick(NEARLY))(*result)
        return result

    def fresh(self, arrays):
        """Return a list or tuple of arrays with other values, and anything else as it is."""
        if type(arrays) not in (list, tuple):
            return arrays
        return type(arrays)([self.refilled(item) for item in arrays])

    def refilled(self, array):
        if type(array) is not np.ndarray or not array.size:
            return array
        if array.dtype.kind in "OS":
            return array.reshape(-1)[::-1].reshape(array.shape)
        if array.dtype == bool:
            return ~array
        if self.model == "failing":
            return array.copy()
        number = array.dtype.type(self.dice.below(5))
        return array[..., ::-1] * number if self.dice.chance(0.1) else array + number

    # ------------------------------------------------------------------- small changes

    def some_array(self, inputs, change):
        """Change one array of one input, or all its arrays. Return ``inputs``."""
        dice = self.dice
        names = [key for key in inputs if type(inputs[key]) is list and inputs[key]]
        if names:
            key = dice.pick(names)
            place = dice.below(len(inputs[key])) if dice.chance(0.5) else None
            inputs[key] = [
                change(array) if type(array) is np.ndarray and place in (None, number) else array
                for number, array in enumerate(inputs[key])
            ]
        return inputs

    def other_dtype(self, inputs, outputs, more):
        def twin(array):
            others = TWINS.get(array.dtype.name)
            if not others or not array.dtype.isnative:
                return array
            other = self.dice.pick(others)
            return array.view(other) if array.flags.c_contiguous else array.astype(other)

        return self.some_array(inputs, twin), outputs, more

    def other_memory(self, inputs, outputs, more):
        def moved(array):
            odd = self.dice.below(4)
            if odd == 0 and array.ndim > 1:
                return np.asfortranarray(array)
            if odd == 1:
                return array[..., ::-1]
            if odd == 2 and array.ndim:
                return np.repeat(array, 2, axis=-1)[..., ::2]
            array = array.copy()
            array.flags.writeable = False
            return array

        return self.some_array(inputs, moved), outputs, more

    def other_batch(self, inputs, outputs, more):
        sizes = [True, 1, np.int64(1), np.uint8(1), 0, 2, 3]
        first = [len(value) for value in inputs.values()][:1]
        size = self.dice.pick(sizes + [np.int32(item) for item in first])
        more["batch_size"], count = size, max(1, int(size))
        fits = self.dice.chance(0.6)
        for key, value in inputs.items():
            if type(value) in (list, tuple) and (fits or len(value) < count):  # never too few
                inputs[key] = value[:1] * count
        return inputs, outputs, more

    def other_keys(self, inputs, outputs, more):
        kinds = [lambda key: key.encode(), np.str_, str]

        def renamed(mapping):
            result = {}
            for key in self.dice.mixed(mapping):
                kind = self.dice.pick(kinds)
                result[kind(key) if type(key) is str else key] = mapping[key]
            return result

        if self.dice.chance(0.6):
            inputs = renamed(inputs)
        if isinstance(outputs, dict) and self.dice.chance(0.7):
            outputs = renamed(outputs)
        return inputs, outputs, more

    def other_formats(self, inputs, outputs, more):
        if not isinstance(outputs, dict):
            return inputs, outputs, more
        result = {}
        for key, value in outputs.items():
            result[key] = self.dice.pick(RAWS)
            if self.model.startswith("classify") or self.dice.chance(0.2):
                result[key] = self.classes()
            if self.dice.chance(0.2):
                result[key] = value
        return inputs, result, more

    def classes(self):
        pick, count = self.dice.pick, self.dice.pick([1, 1, 2, 3])
        kind = pick([int, int, np.int32, float, np.int64, np.float64])
        value = (pick([CLASS, CLASS, float(CLASS), np.int32(CLASS)]), kind(count))
        return list(value) if self.dice.chance(0.2) else value

    def other_scalars(self, inputs, outputs, more):
        if self.model != "sequence_sum":
            more["corr_id"] = self.dice.pick([0, 5, 6, True, np.uint32(9), 2**64 - 1, 2**64])
        if self.dice.chance(0.3):
            more["flags"] = self.dice.pick([0, 1, 2, 3, True, None, "x", 1.0])
        return inputs, outputs, more

    def other_lists(self, inputs, outputs, more):
        for key, value in list(inputs.items()):
            odd = self.dice.below(5)
            if odd < 2 and type(value) in (list, tuple):
                inputs[key] = (tuple if type(value) is list else list)(value)
            elif odd == 2 and type(value) is list:
                inputs[key] = value + value[:1]
            elif odd == 3 and type(value) is list and len(value) > 1:
                inputs[key] = value[:-1] + [self.dice.pick([None, 5, (), value[0]])]
        return inputs, outputs, more

    def other_shape(self, inputs, outputs, more):
        shape = self.dice.pick([(1, -1), (-1, 1), (2, -1), (-1,)])

        def shaped(array):
            if array.size and -1 in shape and array.size % abs(int(np.prod(shape))) == 0:
                return array.reshape(shape)
            return np.concatenate([array, array]) if array.ndim else array

        return self.some_array(inputs, shaped), outputs, more
