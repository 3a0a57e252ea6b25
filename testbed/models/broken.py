"""Cannot be loaded."""


class TritonPythonModel:
    def initialize(self, args):
        raise RuntimeError("this model always fails to load")

    def execute(self, requests):
        raise AssertionError("never loaded")
