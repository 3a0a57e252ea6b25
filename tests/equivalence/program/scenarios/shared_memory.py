"""System shared memory: helpers, registration, inference
(docs/v1-behaviour.md §3.7, §4.3, §6.5, §7).
"""

import contextlib
import ctypes

from recorder import BOTH, CLASS, RAW, SUMS, A, B, floats, objects

import tensorrtserver.api as api
import tensorrtserver.shared_memory as shm


class Regions:
    """Regions of a scenario, removed at its end."""

    def __init__(self, see):
        self.see, self.control, self.handles = see, see.of("SharedMemoryControlContext"), {}

    def __enter__(self):
        return self

    def create(self, name, size, *arrays, **options):
        full = f"{self.see.token}_{name}"
        handle = self.handles[name] = shm.create_shared_memory_region(full, "/" + full, size)
        if arrays:
            shm.set_shared_memory_region(handle, list(arrays))
        if options.get("register", True):
            self.control.register(handle)
        return handle

    def __exit__(self, *_):
        for handle in self.handles.values():
            self.control.unregister(handle)
            with contextlib.suppress(shm.SharedMemoryException):
                shm.destroy_shared_memory_region(handle)


def content(handle_key, size):
    """Return the bytes of a region, read through the file system."""
    with open("/dev/shm" + handle_key, "rb") as file:
        return file.read(size)


def whole(see):
    with Regions(see) as regions:
        region, second = regions.create("i0", 64, A), regions.create("i1", 64, B)
        out = regions.create("o0", 64)
        ctx = see.open("simple")
        see.run("inputs", ctx, {"INPUT0": region, "INPUT1": second}, BOTH)
        see.run("mixed", ctx, {"INPUT0": region, "INPUT1": [B]}, BOTH)
        outputs = {"OUTPUT0": (RAW, out), "OUTPUT1": RAW}
        see.run("output", ctx, {"INPUT0": region, "INPUT1": second}, outputs)
        see.note("in the region", content(f"/{see.token}_o0", 64))
        see.run("with shape", ctx, {"INPUT0": (region, [16]), "INPUT1": [second, (16,)]}, BOTH)
        see.run("float shape", ctx, {"INPUT0": (region, [16.0]), "INPUT1": second}, BOTH)
        see.run("list output", ctx, SUMS, {"OUTPUT0": [RAW, out]})


def batches(see):
    with Regions(see) as regions:
        region, second = regions.create("i0", 128, A, B), regions.create("i1", 128, B, A)
        out = regions.create("o0", 128)
        ctx, inputs = see.open("simple"), {"INPUT0": region, "INPUT1": second}
        see.run("batch 2", ctx, inputs, {"OUTPUT0": (RAW, out), "OUTPUT1": RAW}, 2)
        see.run("batch 1", ctx, inputs, BOTH)
        see.run("batch 0, output", ctx, SUMS, {"OUTPUT0": (RAW, out)}, 0)
        see.run("larger than needed", ctx, SUMS, {"OUTPUT0": (RAW, out)})


def shapes(see):
    with Regions(see) as regions:
        region = regions.create("i0", 24, floats(1, 2, 3, 4, 5, 6))
        ctx = see.open("identity_2d")
        out = {"OUTPUT0": RAW}
        see.run("no shape known", ctx, {"INPUT0": region}, out)
        see.run("2 by 3", ctx, {"INPUT0": (region, [2, 3])}, out)
        see.run("shape stays", ctx, {"INPUT0": region}, out)
        see.run("wrong shape", ctx, {"INPUT0": (region, [5, 3])}, out)
        see.run("wrong shape stays", ctx, {"INPUT0": region}, out)
        see.run("no dimensions", ctx, {"INPUT0": (region, [])}, out)
        see.run("no dimensions stay", ctx, {"INPUT0": region}, out)
        see.run("negative", ctx, {"INPUT0": (region, [-1, 3])}, out)
        see.run("one dimension", ctx, {"INPUT0": (region, [6])}, out)
        see.run("from an array", ctx, {"INPUT0": [floats(1, 2).reshape(1, 2)]}, out)
        see.run("the array's shape stays", ctx, {"INPUT0": region}, out)
        fixed = see.open("simple")
        see.run("wrong for a fixed input", fixed, {"INPUT0": (region, [6]), "INPUT1": [B]}, BOTH)
        see.run("wrong size for a fixed input", fixed, {"INPUT0": region, "INPUT1": [B]}, BOTH)


def kinds_of_values(see):
    with Regions(see) as regions:
        region = regions.create("i0", 64, A)
        ctx = see.open("simple")
        for label, value in (
            ("(handle,)", (region,)),
            ("[handle]", [region]),
            ("handle and array", (region, A)),
            ("two handles", (region, region)),
            ("handle and number", (region, 16)),
            ("handle and None", (region, None)),
            ("handle, shape, more", (region, [16], 1)),
            ("handle and text", (region, ["16"])),
            ("integer", 5),
            ("c_int", ctypes.c_int(5)),
            ("shape first", ([16], region)),
        ):
            see.run(label, ctx, {"INPUT0": value, "INPUT1": [B]}, BOTH)
        for label, value in (
            ("number", (RAW, 5)),
            ("handle, more", (RAW, region, 1)),
            ("handle alone", region),
            ("handle first", (region, RAW)),
            ("class", (CLASS, region)),
        ):
            see.run("output " + label, ctx, SUMS, {"OUTPUT0": value})


def unregistered(see):
    with Regions(see) as regions:
        region = regions.create("i0", 64, A, register=False)
        ctx = see.open("simple")
        see.run("input", ctx, {"INPUT0": region, "INPUT1": [B]}, BOTH)
        see.run("output", ctx, SUMS, {"OUTPUT0": (RAW, region)})
        small = regions.create("o0", 32)
        see.run("too small", ctx, SUMS, {"OUTPUT0": (RAW, small)})


def refusals_in_order(see):
    with Regions(see) as regions:
        region = regions.create("i0", 8, floats(1, 2))
        gone = regions.create("i1", 64, A, register=False)
        out = {"OUTPUT0": RAW}
        see.run("version before shape", see.open("identity_2d", 7), {"INPUT0": region}, out)
        see.run(
            "version before region", see.open("simple", 7), {"INPUT0": gone, "INPUT1": [B]}, BOTH
        )
        ctx = see.open("two_inputs_variable")
        see.run("first shape", ctx, {"INPUT0": [floats(1).reshape(1, 1)], "INPUT1": region}, out)
        see.run("second shape", ctx, {"INPUT1": [floats(1).reshape(1, 1)], "INPUT0": region}, out)
        wide = {"INPUT0": [A.reshape(4, 4)], "INPUT1": gone}
        see.run("shape before region", see.open("simple"), wide, BOTH)


def strings(see):
    values = objects("a", "bc", "")
    packed = api.serialize_string_tensor(values)
    with Regions(see) as regions:
        region = regions.create("i0", packed.itemsize, packed)
        out = regions.create("o0", 64)
        ctx = see.open("identity_string")
        see.run("input", ctx, {"INPUT0": (region, [3])}, {"OUTPUT0": RAW})
        see.run("output", ctx, {"INPUT0": [values]}, {"OUTPUT0": (RAW, out)})
        see.run("both", ctx, {"INPUT0": (region, [3])}, {"OUTPUT0": (RAW, out)})
        see.run("batch of one element", ctx, {"INPUT0": (region, [1])}, {"OUTPUT0": RAW}, 3)


def large_string_region(see):
    packed = api.serialize_string_tensor(objects("a", "bc"))
    with Regions(see) as regions:
        region = regions.create("i0", 64, packed)
        see.run("input", see.open("identity_string"), {"INPUT0": (region, [2])}, {"OUTPUT0": RAW})


def empty(see):
    with Regions(see) as regions:
        outputs = {"OUTPUT0": (RAW, regions.create("o0", 64))}
        see.run("numbers", see.open("identity_fp32"), {"INPUT0": [floats()]}, outputs)
        see.run("strings", see.open("identity_string"), {"INPUT0": [objects()]}, outputs)


def registration(see):
    with Regions(see) as regions:
        control = regions.control
        region = regions.create("i0", 64, register=False)
        see("register", control.register, region)
        see.note("last id", control.get_last_request_id())
        see("register again", control.register, region)
        see.last_id("last id after a failure", control)
        see("unregister", control.unregister, region)
        see("unregister again", control.unregister, region)
        see.note("last id after unregister", control.get_last_request_id())
        shm.destroy_shared_memory_region(region)
        see("register what is gone", control.register, region)


def statuses(see):
    with Regions(see) as regions:
        regions.create("b", 64), regions.create("a", 128)
        status = regions.control.get_shared_memory_status()
        see.note("id", regions.control.get_last_request_id() > 0)
        see.note("type", type(status).__name__)
        result = [item for item in status.shared_memory_region if item.name.startswith(see.token)]
        see.note("regions", sorted(str(item) for item in result))
        see.note("kind", [item.WhichOneof("shared_memory_types") for item in result])


def odd_keys(see):
    control = see.of("SharedMemoryControlContext")
    name = see.token + "_key"
    for key in (name, "/" + name):
        handle = shm.create_shared_memory_region(name, key, 64)
        see("register " + key, control.register, handle)
        see("unregister " + key, control.unregister, handle)
        see("destroy " + key, shm.destroy_shared_memory_region, handle)
    odd = shm.create_shared_memory_region(name + "/x", "/" + name, 64)
    see("slash in the name", control.register, odd)
    see("unregister it", control.unregister, odd)
    shm.destroy_shared_memory_region(odd)
    dots = shm.create_shared_memory_region("..", "/" + name, 64)
    see("dots for a name", control.register, dots)
    see("unregister dots", control.unregister, dots)
    shm.destroy_shared_memory_region(dots)
