def start(ctx, row, wanted):
    return ctx.async_run({"INPUT0": [row]}, {"OUTPUT0": wanted})


def fetch(ctx, numbers):
    return [ctx.get_async_run_results(number, True)["OUTPUT0"][0].tolist() for number in numbers]
