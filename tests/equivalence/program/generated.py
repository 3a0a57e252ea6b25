"""Generate programs from a seed: legal and illegal calls in random order, for Python 3.6.

They avoid what v1 leaves undefined: missing inputs, calls on a closed context.
"""

import threading

import numpy as np
from arguments import MODELS, Arguments, Dice
from recorder import END, RAW, START, WAIT
from repeats import Repeats

import tensorrtserver.shared_memory as shm

STEPS = 14
LONG = 40  # steps of every fifth program


class Program(Arguments, Repeats):
    """A program: one context at a time, and steps on it."""

    def __init__(self, see, seed):
        self.see, self.dice, self.seed = see, Dice(seed), seed
        self.handles, self.number, self.requests = {}, 0, []
        self.earlier = []  # requests of this context to repeat, and whether each succeeded
        self.model, self.ctx = "simple", see.open("simple")
        self.control = see.of("SharedMemoryControlContext")

    def play(self):
        steps = [self.construct] * 3 + [self.run] * 8 + [self.async_run] * 2 + [self.repeat] * 8
        steps += [self.fetch, self.shared, self.shared, self.sequence, self.counted]
        try:
            count = LONG if self.seed % 5 == 4 else STEPS
            for self.number in range(count):
                self.dice.pick(steps)()
        finally:
            self.clean()

    def label(self, text):
        return f"{self.number} {self.model}, {text}"

    # ---------------------------------------------------------------------------- steps

    def construct(self):
        dice = self.dice
        self.model, more = dice.pick(sorted(MODELS)), {}
        name = self.model
        if dice.chance(0.1):
            name = dice.pick(["nope", "", b"simple", "Simple", 5])
        if dice.chance(0.2):
            versions = [None, -1, 1, 0, 9, True, "1", 2**64, -3, np.int16(1)]
            more["model_version"] = dice.pick(versions)
        if dice.chance(0.2):
            more["correlation_id"] = dice.pick([0, 7, -1, 2**64 + 4, "5", None, True])
        if dice.chance(0.3):
            more["streaming"] = dice.pick([self.see.grpc, True, False, None, 0])
        if self.model == "sequence_sum":
            more.pop("correlation_id", None)
        try:
            ctx = self.see.open(name, **more)
        except Exception as error:
            self.see.note(self.label(f"refused {name!r}"), self.see.refusal(error))
            self.model, self.ctx, self.earlier = "simple", self.see.open("simple"), []
            return
        self.forget()
        if isinstance(name, bytes):
            self.model = "simple"
        self.ctx = ctx
        self.see.getters(self.label("constructed"), ctx)

    def forget(self):
        """Wait for the requests in flight, then forget all requests."""
        for done, _ in self.requests:
            done.wait(WAIT)
        self.requests, self.earlier = [], []

    def run(self, request=None):
        inputs, outputs, more = request or self.arguments()
        value = self.see.run(self.label("run"), self.ctx, inputs, outputs, **more)
        if request is None and (value is not None or self.dice.chance(0.2)):
            self.earlier.append(((inputs, outputs, more), value is not None))

    def repeat(self):
        """Send several requests that resemble an earlier request of this context."""
        if not self.earlier:
            self.run()
            return
        earlier = self.dice.pick(self.earlier)
        for _ in range(1 + self.dice.below(6)):
            if self.dice.chance(0.1):
                earlier = self.dice.pick(self.earlier)
            self.dice.pick([self.run] * 6 + [self.async_run, self.handed_over])(self.again(earlier))
        if self.model != "sequence_sum" and self.dice.chance(0.25):
            count = 2 + self.dice.below(3)
            self.async_run(*[self.again(earlier, exactly=True) for _ in range(count)])

    def handed_over(self, request):
        """Run the request with the first array of one input in shared memory."""
        inputs, outputs, more = request
        inputs = dict(inputs)
        for key, value in inputs.items():
            first = value[0] if type(value) is list and value else None
            if type(first) is np.ndarray and first.nbytes and first.dtype.kind not in "OS":
                inputs[key] = self.placed(first, list(first.shape), first.nbytes)
                break
        self.run((inputs, outputs, more))

    def async_run(self, *requests):
        """Send all requests before the first result is fetched."""
        self.see.ids_by_order = False
        sent = [self.sent(*request) for request in requests or [self.arguments()]]
        for done, ids in filter(None, sent):
            self.see.note(self.label("called back"), [done.wait(WAIT), list(ids)])
            self.requests.append((done, ids))
            # before other requests: v1 kept the formats of outputs on the context
            self.see(self.label("fetch"), self.ctx.get_async_run_results, ids[0])
            self.see.getters(self.label("fetched"), self.ctx)

    def sent(self, inputs, outputs, more):
        done, ids = threading.Event(), []

        def called(context, number):
            ids.append(number)
            done.set()

        try:
            value = self.ctx.async_run(called, inputs, outputs, **more)
        except Exception as error:
            self.see.note(self.label("async_run"), self.see.refusal(error))
            self.see.getters(self.label("async_run, then"), self.ctx)
            return None
        self.see.note(self.label("async_run"), value)
        return done, ids

    def fetch(self):
        ids = [number for _, numbers in self.requests for number in numbers]
        known = ids and self.dice.chance(0.8)
        number = self.dice.pick(ids if known else [0, 99, -1, None, "1"])
        self.see(self.label(f"fetch {number!r}"), self.ctx.get_async_run_results, number)
        self.see.getters(self.label("fetch, then"), self.ctx)

    def counted(self):
        stat = self.ctx.get_stat()
        self.see.note(self.label("statistics"), [sorted(stat), stat["completed_request_count"]])

    def sequence(self):
        if self.model != "sequence_sum":
            return self.run()
        flags = self.dice.pick([START, 0, 0, END, START | END])
        corr_id = self.dice.pick([0, 4200001 + self.seed % 1000])
        value = {"INPUT": [np.array([self.dice.below(10)], dtype=np.int32)]}
        request = (value, {"OUTPUT": RAW}, 1, flags, corr_id)
        return self.see.run(self.label("sequence"), self.ctx, *request)

    def shared(self):
        """Run a request with inputs or outputs in shared memory."""
        dice = self.dice
        rows, outputs, _ = MODELS[self.model]
        if any(kind == "text" for _, kind, _ in rows):
            return self.run()
        inputs, sure = self.inputs(1, True), dice.chance(0.5)  # one trouble at a time
        for name, _kind, _dims in rows:
            if dice.chance(0.6):
                array = inputs[name][0]
                size = max(1, array.nbytes) + dice.pick([0, 0, 0, 0, 4])
                odd = not sure and dice.chance(0.2)
                shape = [1] + list(array.shape) if odd else list(array.shape)
                inputs[name] = self.placed(array, shape, size, not sure or dice.chance(0.8))
        formats = {}
        for name in dice.mixed(outputs):
            if dice.chance(0.4):
                size = dice.pick([256, 64, 16])
                register = not sure or dice.chance(0.8)
                formats[name] = (RAW, self.region(f"o{len(self.handles)}", size, register))
            else:
                formats[name] = self.form()
        return self.see.run(self.label("shared"), self.ctx, inputs, formats)

    def placed(self, array, shape, size, register=True):
        """Put an array into a region of its own. Return the handle, or the handle and the shape."""
        handle = self.region(f"i{len(self.handles)}", size, register)
        shm.set_shared_memory_region(handle, [array])
        return handle if self.dice.chance(0.4) else (handle, shape)

    def region(self, name, size, register):
        full = f"{self.see.token}_{self.seed}_{name}"
        handle = self.handles[name] = shm.create_shared_memory_region(full, "/" + full, size)
        if register:
            self.see(self.label("register " + name), self.control.register, handle)
        return handle

    def clean(self):
        self.forget()
        for handle in self.handles.values():
            self.control.unregister(handle)
            shm.destroy_shared_memory_region(handle)


def play(see, seed):
    """Play the program of a seed."""
    Program(see, seed).play()
