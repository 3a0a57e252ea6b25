import settings
from tensorrtserver.api import InferContext


def first_ready(url, protocol, inputs):
    ctx = InferContext(url, protocol, "simple")
    ctx.async_run(inputs, {"OUTPUT1": settings.RAW})
    return ctx.get_async_run_results(ctx.get_ready_async_request(True), True)["OUTPUT1"][0]
