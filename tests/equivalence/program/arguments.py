"""Random arguments of run() and async_run(), legal and illegal, for Python 3.6."""

import random

import numpy as np
from recorder import CLASS, END, RAW, START, objects

FLOAT, INT = "float32", "int32"
ANY = None  # a dimension of any size

_SUMS = [("INPUT0", INT, [16]), ("INPUT1", INT, [16])]
_TEXTS = [("INPUT0", "text", [16]), ("INPUT1", "text", [16])]
_VARIABLE = [("INPUT0", FLOAT, [ANY]), ("INPUT1", FLOAT, [ANY])]
_BOTH = ["OUTPUT0", "OUTPUT1"]
#: Inputs (name, type, dims) and outputs by model, and the largest batch.
MODELS = {
    "simple": (_SUMS, _BOTH, 8),
    "simple_nobatch": (_SUMS, _BOTH, 1),
    "simple_string": (_TEXTS, _BOTH, 8),
    "identity_fp32": ([("INPUT0", FLOAT, [ANY])], ["OUTPUT0"], 8),
    "identity_int64": ([("INPUT0", "int64", [ANY])], ["OUTPUT0"], 8),
    "identity_uint8": ([("INPUT0", "uint8", [ANY])], ["OUTPUT0"], 8),
    "identity_bool": ([("INPUT0", "bool", [ANY])], ["OUTPUT0"], 8),
    "identity_fp16": ([("INPUT0", "float16", [ANY])], ["OUTPUT0"], 8),
    "identity_string": ([("INPUT0", "text", [ANY])], ["OUTPUT0"], 8),
    "identity_string_nobatch": ([("INPUT0", "text", [ANY])], ["OUTPUT0"], 1),
    "identity_2d": ([("INPUT0", FLOAT, [ANY, ANY])], ["OUTPUT0"], 8),
    "identity_nobatch": ([("INPUT0", FLOAT, [ANY, ANY])], ["OUTPUT0"], 1),
    "identity_reshape": ([("INPUT0", FLOAT, [4])], ["OUTPUT0"], 8),
    "two_inputs_variable": (_VARIABLE, _BOTH, 8),
    "classify": ([("INPUT", FLOAT, [10])], ["OUTPUT"], 8),
    "classify_nobatch": ([("INPUT", FLOAT, [10])], ["OUTPUT"], 1),
    "classify_int32": ([("INPUT", INT, [10])], ["OUTPUT"], 8),
    "classify_fp64": ([("INPUT", "float64", [10])], ["OUTPUT"], 8),
    "classify_nolabels": ([("INPUT", FLOAT, [10])], ["OUTPUT"], 8),
    "classify_variable": ([("INPUT", FLOAT, [ANY])], ["OUTPUT"], 8),
    "ensemble_simple": (_SUMS, ["OUTPUT0"], 8),
    "ensemble_classify": ([("INPUT", FLOAT, [10])], ["OUTPUT"], 8),
    "multi_version": ([("INPUT0", FLOAT, [1])], ["OUTPUT0"], 8),
    "failing": ([("INPUT0", FLOAT, [1])], ["OUTPUT0"], 8),
    "omits_output": ([("INPUT0", FLOAT, [1])], ["OUTPUT0", "OUTPUT1"], 8),
    "tensor_names": ([("in/put:0", FLOAT, [4])], ["out/put:0", "out/put:1"], 8),
    "sequence_sum": ([("INPUT", INT, [1])], ["OUTPUT", "CORRID"], 32),
}
CLASSES = [(CLASS, 1), (CLASS, 3), [CLASS, 2], (CLASS, 100), (2, 2), (CLASS, -1), (CLASS, True)]
ODD_FORMATS = [
    *(1, 2, None, "RAW", [1], (), (3, 1), (RAW,), (RAW, 5), [RAW], (2,)),
    *((CLASS, "3"), (CLASS, 2.5), 1.5, {}),
]
WORDS = ("", "a", "bc", "\u00e4\u20ac", "x\0y", "12", "end\0")


class Dice:
    """Random choices that are equal on every version of Python."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def below(self, limit):
        return int(self.random() * limit)

    def pick(self, values):
        values = list(values)
        return values[self.below(len(values))]

    def chance(self, part):
        return self.random() < part

    def mixed(self, values):
        values = list(values)
        return [values.pop(self.below(len(values))) for _ in range(len(values))]


class Arguments:
    """A source of random arguments for the model of a context."""

    def array(self, kind, dims, good=True):
        """Return an array for one batch entry. If not ``good``, its size, shape or type is odd."""
        dice = self.dice
        shape = [dice.below(4) if size is ANY else size for size in dims]
        if not good:
            odd = dice.below(6)
            if odd == 0:
                shape[-1] += 1
            elif odd == 1:
                shape = [1] + shape
            elif odd == 2 and kind != "text":
                kind = dice.pick(["int16", "float64", "int32", "complex64", ">i4", "int8"])
            elif odd == 3:
                shape = shape[:-1] + [1, shape[-1]]
            elif odd == 4 and shape[-1] % 4 == 0:
                shape = shape[:-1] + [4, shape[-1] // 4]
            elif odd == 5:
                shape = [0]
        count = int(np.prod(shape))
        if kind == "text":
            if self.model == "simple_string":
                values = objects(*[str(dice.below(100)) for _ in range(count)])
            else:
                values = objects(*[dice.pick(WORDS) for _ in range(count)])
            if dice.chance(0.2):
                values = (
                    values.astype("S") if all(ord(c) < 128 for v in values for c in v) else values
                )
            return values.reshape(shape)
        values = np.array([dice.below(200) - 50 for _ in range(count)]).astype(kind).reshape(shape)
        if self.model == "failing" and dice.chance(0.7):
            values[...] = 0
        if dice.chance(0.1) and values.ndim > 1:
            values = np.asfortranarray(values)
        return values

    def inputs(self, batch, good):
        """Return inputs of the context's model for a batch. If not ``good``, spoil one input."""
        dice, result = self.dice, {}
        rows, _, _ = MODELS[self.model]
        broken = None if good else dice.pick([row[0] for row in rows])
        for name, kind, dims in dice.mixed(rows):
            first = self.array(kind, dims)
            arrays = [first] + [self.like(kind, first) for _ in range(batch - 1)]
            if name == broken:
                arrays = self.spoilt(kind, dims, arrays)
            elif dice.chance(0.2):
                arrays = tuple(arrays)
            result[name] = arrays
        if not good and dice.chance(0.1):
            result["NOPE"] = [np.zeros(1)]
        return result

    def like(self, kind, array):
        """Return an array of equal shape and type with other values."""
        if kind == "text":
            return array[::-1] if array.ndim else array
        if array.dtype == bool:
            return ~array
        return np.ascontiguousarray(array + array.dtype.type(1))

    def spoilt(self, kind, dims, arrays):
        odd = self.dice.below(8)
        if odd == 0:
            return arrays + arrays[:1]
        if odd == 1:
            return self.dice.pick([None, 5, "text", [], (), arrays[0], [None], [[1]], {}, [5.5]])
        if odd == 2:
            return [(arrays[0],)]
        if odd == 3 and len(arrays) > 1:
            return arrays[:-1] + [self.array(kind, dims, good=False)]
        return [self.array(kind, dims, good=False)] * len(arrays)

    def outputs(self, good):
        dice = self.dice
        names = dice.mixed(MODELS[self.model][1])
        if dice.chance(0.3):
            names = names[:1]
        result = {name: self.form() for name in names}
        if good:
            return {} if dice.chance(0.05) else result
        odd = dice.below(5)
        if odd == 0:
            result["NOPE"] = RAW
        elif odd == 1:
            result[names[-1]] = dice.pick(ODD_FORMATS)
        elif odd == 2:
            return dice.pick([None, [], "OUTPUT0", 5])
        return result

    def form(self):
        if self.dice.chance(0.25):
            return self.dice.pick(CLASSES)
        return RAW

    def batch(self):
        """Return a batch size as an argument, good or odd."""
        largest, dice = MODELS[self.model][2], self.dice
        if dice.chance(0.55):
            return 1
        if dice.chance(0.1):
            return dice.pick([largest + 1, 0, -1, 2**40, None, "1", 1.5, True, np.int64(1)])
        return 1 + dice.below(min(largest, 4))

    def arguments(self):
        dice, batch = self.dice, self.batch()
        rows = batch if isinstance(batch, int) and 0 < batch < 40 else 1
        trouble = dice.below(5)
        inputs, outputs = self.inputs(rows, trouble != 0), self.outputs(trouble != 1)
        more = {}
        if batch != 1 or dice.chance(0.3):
            more["batch_size"] = batch
        if dice.chance(0.1) and self.model != "sequence_sum":
            more["flags"] = dice.pick([0, START, END, 3, 2**32, -1, True, None, "x"])
        if dice.chance(0.15) and self.model != "sequence_sum":
            more["corr_id"] = dice.pick([0, 5, 2**64 - 1, 2**64, -7, np.uint32(9), None, 1.5, "5"])
        return inputs, outputs, more
