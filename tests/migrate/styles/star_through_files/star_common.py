import argparse
from tensorrtserver.api import *


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("-u", "--url")
    parser.add_argument("-i", "--protocol")
    return parser.parse_args()


def healthy(url, protocol):
    return ServerHealthContext(url, protocol).is_ready()
