"""An application of PyTriton: plain functions, bound and served.

Run as a script in the complete server environment: ``_pytriton_functions.py HTTP_PORT GRPC_PORT``.
"""

import logging
import signal
import sys
import threading

import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig, TritonSecurityConfig


@batch
def simple(INPUT0, INPUT1):
    """Return sum and difference."""
    return {"OUTPUT0": INPUT0 + INPUT1, "OUTPUT1": INPUT0 - INPUT1}


@batch
def simple_string(INPUT0, INPUT1):
    """Return sum and difference of decimal numbers as text."""
    left, right = INPUT0.astype(np.int64), INPUT1.astype(np.int64)
    results = {"OUTPUT0": left + right, "OUTPUT1": left - right}
    return {name: np.char.mod(b"%d", value).astype(object) for name, value in results.items()}


@batch
def classifier(INPUT):
    """Return the input as scores."""
    return {"OUTPUT": INPUT}


def bind_all(triton):
    """Bind the three functions, each with a batch of up to 8."""
    bindings = [
        ("simple", simple, "INPUT0 INPUT1", "OUTPUT0 OUTPUT1", np.int32, 16),
        ("simple_string", simple_string, "INPUT0 INPUT1", "OUTPUT0 OUTPUT1", bytes, 16),
        ("classifier", classifier, "INPUT", "OUTPUT", np.float32, 10),
    ]
    for name, function, inputs, outputs, dtype, size in bindings:
        triton.bind(
            model_name=name,
            infer_func=function,
            inputs=[Tensor(name=item, dtype=dtype, shape=(size,)) for item in inputs.split()],
            outputs=[Tensor(name=item, dtype=dtype, shape=(size,)) for item in outputs.split()],
            config=ModelConfig(max_batch_size=8),
            strict=True,
        )


def main(http_port, grpc_port):
    """Serve until SIGTERM."""
    logging.basicConfig(level=logging.INFO)
    end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: end.set())
    config = TritonConfig(
        http_address="127.0.0.1",
        http_port=http_port,
        grpc_address="127.0.0.1",
        grpc_port=grpc_port,
        allow_metrics=False,
        exit_timeout_secs=2,
    )
    # by default PyTriton restricts status and shared memory to holders of a token
    triton = Triton(config=config, security_config=TritonSecurityConfig(restricted_endpoints=[]))
    bind_all(triton)
    triton.run()
    print("the functions are being served", flush=True)
    end.wait()
    triton.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
