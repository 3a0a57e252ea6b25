"""MLServer with the models of the table and the trained ones.

``mlserver_app.py FOLDER TRAINED HTTP_PORT GRPC_PORT METRICS_PORT``: FOLDER receives the models'
settings. TRAINED contains the models that ``train.py`` trained.
"""

import json
import multiprocessing
import os
import sys

from mlserver.cli import main as mlserver
from table import MODELS

FLOWERS = [{"name": "values", "datatype": "FP64", "shape": [-1, 4]}]
KINDS = [
    {"name": "predict", "datatype": "INT64", "shape": [-1, 1]},
    {"name": "predict_proba", "datatype": "FP64", "shape": [-1, 3]},
]
SKLEARN, XGBOOST = "mlserver_sklearn.SKLearnModel", "mlserver_xgboost.XGBoostModel"
# The runtimes of trained models need no declaration of their tensors.
TRAINED = {
    "iris": {"file": "iris.joblib", "implementation": SKLEARN},
    "iris_declared": {
        "file": "iris.joblib",
        "implementation": SKLEARN,
        "inputs": FLOWERS,
        "outputs": KINDS,
    },
    "petal": {"file": "petal.joblib", "implementation": SKLEARN},
    "iris_boosted": {"file": "iris.json", "implementation": XGBOOST},
}


def write(folder, name, settings):
    """Write the folder of a model as MLServer reads it."""
    os.makedirs(folder)
    with open(os.path.join(folder, "model-settings.json"), "w", encoding="utf-8") as file:
        json.dump({"name": name, **settings}, file)


def write_all(folder, trained):
    """Write every model, with a folder for each version."""
    for name, model in MODELS.items():
        for version in model.versions:
            settings = {side: model.metadata(side) for side in ("inputs", "outputs")}
            settings["implementation"] = "mlserver_runtime.Computed"
            settings["parameters"] = {"version": version} if version else {}
            write(os.path.join(folder, f"{name}-{version or 'only'}"), name, settings)
    for name, settings in TRAINED.items():
        file = os.path.join(trained, settings.pop("file"))
        parameters = {"uri": file, "version": "v1.0"}
        write(os.path.join(folder, name), name, {**settings, "parameters": parameters})


def main(folder, trained, *ports):
    """Write the models and settings, then serve until SIGTERM."""
    write_all(folder, trained)
    numbers = dict(zip(("http_port", "grpc_port", "metrics_port"), map(int, ports)))
    # by default MLServer makes these two folders in the current folder
    own = {name: os.path.join(folder, name) for name in ("metrics_dir", "environments_dir")}
    with open(os.path.join(folder, "settings.json"), "w", encoding="utf-8") as file:
        json.dump({"host": "127.0.0.1", "debug": False, **numbers, **own}, file)
    # killed workers leave semaphores in /dev/shm; the supervisor removes those with this name
    multiprocessing.current_process()._config["semprefix"] = os.environ["TESTBED_SEMAPHORES"]
    sys.argv[1:] = ["start", folder]
    mlserver()


if __name__ == "__main__":
    main(*sys.argv[1:])
