from tensorrtserver.api import *


def add_server_arguments(parser):
    parser.add_argument('-u', '--url', type=str, default='localhost:8000')
    parser.add_argument('-i', '--protocol', type=str, default='http')


def open_context(url, protocol, model_name):
    return InferContext(url, protocol, model_name, -1, False)


def run_one(ctx, data):
    return ctx.run({'INPUT0': [data]}, {'OUTPUT0': InferContext.ResultFormat.RAW}, 1)['OUTPUT0'][0].tolist()
