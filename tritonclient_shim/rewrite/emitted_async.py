"""The functions for asynchronous requests that a rewritten file may need, as text."""

from __future__ import annotations

STREAMED_REQUESTS = '''
_requests = collections.defaultdict(dict)  # by client and number: a Future, and what it is for
_numbers = collections.defaultdict(lambda: itertools.count(1))  # by client


def start_run(client, model_name, callback, inputs, outputs, owner=None, stream=False, **options):
    """Start a request and return its number, which the callback gets instead if there is one.

    callback: what is called with the client, or its owner, and the number; None for nothing.
    stream: whether the request goes over the stream of the client.
    The other arguments are those of `run_model`.
    """
    config = config_of(client, model_name)
    tensors = [infer_input(client, model_name, name, rows) for name, rows in inputs.items()]
    wanted = [CLIENT.InferRequestedOutput(name) for name in outputs]  #-classes
    wanted = [  #+classes
        CLIENT.InferRequestedOutput(name, class_count=count)  #+classes
        for name, count in outputs.items()  #+classes
    ]  #+classes
    number, future = next(_numbers[client]), Future()
    _requests[client][number] = (future, outputs, config)

    def done(result, error):
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
        if callback is not None:
            callback(client if owner is None else owner, number)

    send_it = send_on_stream if stream else send
    send_it(client, done, model_name, tensors, outputs=wanted, **options)
    return number if callback is None else None


def run_results(client, number, wait=True):
    """What a request that was started comes to; None if it shall not be waited for, and runs."""
    future, outputs, config = _requests[client][number]
    if not wait and not future.done():
        return None
    del _requests[client][number]
    return results_of(future.result(), outputs, config)  #-last
    return results_of(remembered(client, future.result()), outputs, config)  #+last
'''
READY = '''
def ready_request(client, wait=True):
    """The number of a request that is done; None if there is none, and none is waited for."""
    started = {future: number for number, (future, _, _) in _requests[client].items()}
    done = futures.wait(started, None if wait else 0, futures.FIRST_COMPLETED).done
    return min((started[future] for future in done), default=None)
'''
SEND = '''
def send(client, done, model_name, tensors, **options):
    """Send a request; `done` gets its result and its error, one of which is None."""
    client.async_infer(model_name, tensors, done, **options)
'''
SEND_HTTP = '''
_pool = ThreadPoolExecutor(4)
_sequences = ThreadPoolExecutor(1)  # the requests of a sequence stay in their order
_made_by = {}  # client -> what makes another one like it
_own = threading.local()


def connect(module, url, **options):
    """A client, and what makes more like it: over HTTP each thread needs one of its own."""
    client = module.InferenceServerClient(url, **options)
    vars(_own)[client] = client
    _made_by[client] = functools.partial(module.InferenceServerClient, url, **options)
    return client


def send(client, done, model_name, tensors, **options):
    """Send a request; `done` gets its result and its error, one of which is None."""
    pool = _sequences if options.get("sequence_id") else _pool
    pool.submit(_infer, client, done, model_name, tensors, options)


def _own_client(client):
    clients = vars(_own)
    if client in _made_by and client not in clients:
        clients[client] = _made_by[client]()
        if client.plugin():  #+headers
            clients[client].register_plugin(client.plugin())  #+headers
    return clients.get(client, client)


def _infer(client, done, model_name, tensors, options):
    try:
        result, error = _own_client(client).infer(model_name, tensors, **options), None
    except Exception as raised:
        result, error = None, raised
    done(result, error)
'''
SEND_EITHER = SEND_HTTP.replace(
    "    pool = ",
    """    if isinstance(client, grpcclient.InferenceServerClient):
        client.async_infer(model_name, tensors, done, **options)
        return
    pool = """,
).replace(
    "    clients = vars(_own)",
    """    if isinstance(client, grpcclient.InferenceServerClient):
        return client  # which all threads may use
    clients = vars(_own)""",
)
STREAM = '''
_streams = {}  # client -> number of a request on its stream -> what gets the answer


def send_on_stream(client, done, model_name, tensors, **options):
    """Send a request on the stream of the client, which the first one opens."""
    if client not in _streams:
        _streams[client] = {}
        client.start_stream(functools.partial(_answered, client))
        threading.Thread(target=_stop_at_end, args=(client,), daemon=True).start()
    number = str(next(_stream_numbers))
    _streams[client][number] = done
    client.async_stream_infer(model_name, tensors, request_id=number, **options)


_stream_numbers = itertools.count(1)


def _answered(client, result, error):
    waiting = _streams[client]
    number = next(iter(waiting)) if result is None else result.get_response().id
    waiting.pop(number)(result, error)


def _stop_at_end(client):
    threading.main_thread().join()
    client.stop_stream()  # its thread would keep the program from ending
'''
#: The same where no request goes over a stream.
REQUESTS = (
    STREAMED_REQUESTS.replace(", stream=False", "")
    .replace("    stream: whether the request goes over the stream of the client.\n", "")
    .replace("    send_it = send_on_stream if stream else send\n", "")
    .replace("    send_it(", "    send(")
)
