"""A v1 program that looks at everything: prints one JSON object. Run by the genuine client.

    python genuine_tour.py http|grpc URL

It is written in the v1 API only, and for Python 3.6.
"""

import json
import sys
import threading
import time
from functools import partial

import numpy as np

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import *  # noqa: F403

API = {name: value for name, value in globals().items() if not name.startswith("__")}
InferContext = API["InferContext"]
InferenceServerException = API["InferenceServerException"]
RAW, CLASS = InferContext.ResultFormat.RAW, InferContext.ResultFormat.CLASS
A, B = np.arange(16, dtype=np.int32), np.ones(16, dtype=np.int32)
BOTH = {"OUTPUT0": RAW, "OUTPUT1": RAW}


def told(act):
    """What a call returned, or how it was refused."""
    try:
        return plain(act())
    except InferenceServerException as error:
        return {"message": error.message(), "server": error.server_id(), "id": error.request_id()}


def plain(value):
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return [value.dtype.name, list(value.shape), plain(value.tolist())]
    if isinstance(value, bytes):
        return value.decode()
    return value


class Tour:
    def __init__(self, url, protocol):
        self.url = url
        self.protocol = API["ProtocolType"].from_str(protocol)
        self.streams = (False, True) if protocol == "grpc" else (False,)

    def context(self, model, *args, **kwargs):
        return InferContext(self.url, self.protocol, model, *args, **kwargs)

    def of(self, name, *args):
        return API[name](self.url, self.protocol, *args)

    # ------------------------------------------------------------------------ inference

    def inference(self):
        with self.context("simple") as ctx:
            one = ctx.run({"INPUT0": (A,), "INPUT1": (B,)}, BOTH)
            getters = [ctx.get_last_request_model_name(), ctx.get_last_request_model_version()]
            batch = ctx.run(
                {"INPUT0": [A, B], "INPUT1": [B, B]}, {"OUTPUT1": RAW, "OUTPUT0": RAW}, 2
            )
            assert ctx.get_last_request_id() > 0
        return {"one": one, "batch": batch, "getters": getters}

    def classes(self):
        scores = np.array([0.1, 0.9, 0.3, 0.8, 0, 0, 0, 0.7, 0, 0.2], dtype=np.float32)
        with self.context("classify") as ctx:
            return ctx.run({"INPUT": [scores, -scores]}, {"OUTPUT": (CLASS, 3)}, 2)

    def thousand_classes(self):
        with self.context("classify_1000") as ctx:
            scores = [np.arange(1000, dtype=np.float32)] * 8
            found = ctx.run({"INPUT": scores}, {"OUTPUT": (CLASS, 1000)}, 8)["OUTPUT"]
        return [len(found), len(found[7]), found[7][0], found[0][999]]

    def strings(self):
        texts = np.array([str(x) for x in range(16)], dtype=object)
        ones = np.array(["1"] * 16).astype("S")
        with self.context("simple_string") as ctx:
            return ctx.run({"INPUT0": (texts,), "INPUT1": (ones,)}, BOTH)

    def zero_size(self):
        with self.context("identity_string") as ctx:
            return ctx.run({"INPUT0": (np.array([], dtype=object),)}, {"OUTPUT0": RAW})

    def large(self):
        data = np.arange(3000000, dtype=np.float32)
        with self.context("identity_fp32") as ctx:
            found = ctx.run({"INPUT0": (data,)}, {"OUTPUT0": RAW})["OUTPUT0"][0]
        return bool(np.array_equal(found, data))

    def versions(self):
        value = {"INPUT0": (np.zeros(1, dtype=np.float32),)}
        found = []
        for version in (-1, 1, 2):
            with self.context("multi_version", version) as ctx:
                found.append(ctx.run(value, {"OUTPUT0": RAW}))
                found.append(ctx.get_last_request_model_version())
        return found

    # ----------------------------------------------------------------------- async, streams

    def callbacks(self):
        return [self.called_back(streaming) for streaming in self.streams]

    def called_back(self, streaming):
        done, results, count = threading.Event(), {}, 8

        def finished(context, request_id):
            results[request_id] = told(partial(context.get_async_run_results, request_id))
            if len(results) == count:
                done.set()

        with self.context("simple", -1, False, 0, streaming) as ctx:
            for number in range(count):
                ctx.async_run(finished, {"INPUT0": (A + number,), "INPUT1": (B,)}, BOTH)
            assert done.wait(60)
        return [results[number + 1]["OUTPUT0"][0][2][0] for number in range(count)]

    def refused_in_stream(self):
        good, bad = np.zeros(1, dtype=np.float32), np.full(1, 7, dtype=np.float32)
        found = []
        with self.context("failing", -1, False, 0, self.streams[-1]) as ctx:
            for value in (good, bad, good):
                found.append(told(partial(ctx.run, {"INPUT0": (value,)}, {"OUTPUT0": RAW})))
        return found

    def sequence(self):
        flags = API["InferRequestHeader"]
        start, end = flags.FLAG_SEQUENCE_START, flags.FLAG_SEQUENCE_END
        found = []
        for streaming in self.streams:
            with self.context("sequence_sum", -1, False, 77 + streaming, streaming) as ctx:
                for value, flags in ((3, start), (4, 0), (5, end)):
                    data = np.array([value], dtype=np.int32)
                    found.append(ctx.run({"INPUT": (data,)}, {"OUTPUT": RAW}, 1, flags)["OUTPUT"])
        return found

    # ------------------------------------------------------------------------------ refusals

    def refusals(self):
        simple, wide = self.context("simple"), np.zeros((4, 4), dtype=np.int32)
        sequence = self.context("sequence_sum")
        number = {"INPUT": (np.ones(1, dtype=np.int32),)}
        texts = np.array(["1"] * 16, dtype=object)
        return {
            "unknown model": told(lambda: self.context("nope")),
            "unknown version": told(
                lambda: self.context("simple", 7).run({"INPUT0": (A,), "INPUT1": (B,)}, BOTH)
            ),
            "shape": told(lambda: simple.run({"INPUT0": (wide,), "INPUT1": (B,)}, BOTH)),
            "no id": told(lambda: sequence.run(number, {"OUTPUT": RAW})),
            "no start": told(lambda: sequence.run(number, {"OUTPUT": RAW}, corr_id=5)),
            "classes of strings": told(
                lambda: self.context("simple_string").run(
                    {"INPUT0": (texts,), "INPUT1": (texts,)}, {"OUTPUT0": (CLASS, 1)}
                )
            ),
            "load unknown": told(lambda: self.of("ModelControlContext").load("nope")),
            "region twice": self.region_twice(),
        }

    def region_twice(self):
        control = self.of("SharedMemoryControlContext")
        handle = shm.create_shared_memory_region("tour_twice", "/tour_twice", 64)
        try:
            control.register(handle)
            return told(lambda: control.register(handle))
        finally:
            control.unregister(handle)
            shm.destroy_shared_memory_region(handle)

    # ------------------------------------------------------------------- status and control

    def health(self):
        health = self.of("ServerHealthContext")
        return [health.is_live(), health.is_ready(), health.get_last_request_id()]

    def status(self):
        context = self.of("ServerStatusContext")
        status = context.get_server_status()
        first = context.get_last_request_id()
        one = self.of("ServerStatusContext", "simple").get_server_status()
        simple = one.model_status["simple"]
        return {
            "id": status.id,
            "ready_state": status.ready_state,
            "models": sorted(status.model_status),
            "one": sorted(one.model_status),
            "max_batch_size": simple.config.max_batch_size,
            "inputs": [[i.name, i.data_type, list(i.dims)] for i in simple.config.input],
            "versions": {str(v): s.ready_state for v, s in simple.version_status.items()},
            "id grows": first > 0,
        }

    def repository(self):
        index = self.of("ModelRepositoryContext").get_model_repository_index()
        return sorted(model.name for model in index.models)

    def model_control(self):
        control = self.of("ModelControlContext")
        found = [control.load("spare"), control.get_last_request_id()]
        with self.context("spare") as ctx:
            found.append(ctx.run({"INPUT0": (np.ones(1, np.float32),)}, {"OUTPUT0": RAW}))
        found.append(control.unload("spare"))
        found.append(control.unload("never_heard_of"))
        self.wait_until_unloaded("spare")
        return found

    def wait_until_unloaded(self, name):
        """While a model is being unloaded, Triton is not ready."""
        context = self.of("ServerStatusContext", name)
        versions = context.get_server_status().model_status[name].version_status
        while any(status.ready_state == 4 for status in versions.values()):
            time.sleep(0.05)
            versions = context.get_server_status().model_status[name].version_status

    # ------------------------------------------------------------------------ shared memory

    def shared_memory(self):
        control = self.of("SharedMemoryControlContext")
        handles = {
            name: shm.create_shared_memory_region("tour_" + name, "/tour_" + name, 64)
            for name in ("in0", "in1", "out0")
        }
        shm.set_shared_memory_region(handles["in0"], [A])
        shm.set_shared_memory_region(handles["in1"], [B])
        try:
            for handle in handles.values():
                control.register(handle)
            listed = control.get_shared_memory_status()
            with self.context("simple") as ctx:
                result = ctx.run(
                    {"INPUT0": handles["in0"], "INPUT1": handles["in1"]},
                    {"OUTPUT0": (RAW, handles["out0"]), "OUTPUT1": RAW},
                )
            control.unregister(handles["in0"])
            control.unregister_all()
            left = control.get_shared_memory_status()
        finally:
            for handle in handles.values():
                shm.destroy_shared_memory_region(handle)
        regions = [
            [r.name, r.system_shared_memory.shared_memory_key, r.byte_size]
            for r in listed.shared_memory_region
        ]
        return {"regions": regions, "result": result, "left": len(left.shared_memory_region)}


PLACES = (
    "inference",
    "classes",
    "thousand_classes",
    "strings",
    "zero_size",
    "large",
    "versions",
    "callbacks",
    "refused_in_stream",
    "sequence",
    "refusals",
    "health",
    "status",
    "repository",
    "model_control",
    "shared_memory",
)

if __name__ == "__main__":
    tour = Tour(sys.argv[2], sys.argv[1])
    seen = {}
    for place in PLACES:
        try:
            seen[place] = plain(getattr(tour, place)())
        except InferenceServerException as error:
            seen[place] = "failed: " + str(error)
    print("\n" + json.dumps(seen))
