"""Methods of the program's own classes that have the names of v1's methods."""

from __future__ import annotations

import pytest

from tests.scan.scan_runs import STAR, Scanner

_MODEL = """
class Model:
    def async_run(self, x, i):
        return x

    def get_stat(self):
        return {}
"""
#: Ways to the object of a class in ``models.py``.
_OWN = {
    "imported class": "from models import Model\nmodel = Model()\n",
    "imported module": "import models\nmodel = models.Model()\n",
    "another name": "from models import Model as M\nmodel = M()\n",
    "star import": "from models import *\nmodel = Model()\n",
    "package": "from .models import Model\nmodel = Model()\n",
    "derived class": "from models import Derived\nmodel = Derived()\n",
    "annotation": "from models import Model\ndef use(model: Model):\n    return {use}\n",
    "argument": "from models import *\ndef use(model):\n    {use}\nuse(Model())\n",
    "attribute": (
        "from models import Model\n"
        "class A:\n    def __init__(self):\n        self.model = Model()\n"
        "    def use(self):\n        model = self.model\n        return {use}\n"
    ),
    "element": "from models import Model\nfor model in [Model(), Model()]:\n    {use}\n",
}
#: What may be v1's, too, and what ``models.py`` is.
_V1 = {
    "parameter": ("def use(model):\n    {use}\n", _MODEL),
    "either": ("from models import Model\nmodel = Model() if x else make()\n", _MODEL),
    "class of v1": (
        "from models import Model\nmodel = Model()\n",
        f"{STAR}class Model(InferContext):\n    def async_run(self, x, i):\n        return x\n",
    ),
    "class of an unknown class": (
        "from models import Model\nmodel = Model()\n",
        _MODEL.replace("Model:", "Model(make()):"),
    ),
    "class without the method": (
        "from models import Model\nmodel = Model()\n",
        "class Model:\n    def __getattr__(self, name):\n        return getattr(context, name)\n",
    ),
    "two classes of a name": (
        "from models import Model\nmodel = Model()\n",
        f"{_MODEL}if x:\n    class Model(Base):\n        pass\n",
    ),
    "decorated class": (
        "from models import Model\nmodel = Model()\n",
        _MODEL.replace("class", "@made\nclass"),
    ),
}


def _uses(scan: Scanner, script: str, models: str, use: str) -> list[str]:
    """Return the uses of ``script.py`` beside ``models.py``, without imports."""
    text = f"import tensorrtserver.api\n{script}"
    text = text.replace("{use}", use) if "{use}" in text else f"{text}{use}\n"
    scan.write("models.py", models)
    scan.write("script.py", text)
    scan.write("other.py", "import script\n")
    return [x for x in scan.places(".") if x.startswith("script.py") and "TS009" not in x]


@pytest.mark.parametrize("use", ["model.async_run(x, i)", "model.get_stat()"])
@pytest.mark.parametrize("way", _OWN)
def test_objects_of_own_classes(scan: Scanner, way: str, use: str) -> None:
    """A method of a class of another file is not reported, if v1 has no part in the class."""
    models = f"{_MODEL}class Derived(Model):\n    pass\n"
    assert _uses(scan, _OWN[way], models, use) == []


@pytest.mark.parametrize("way", _V1)
def test_objects_that_may_be_v1s(scan: Scanner, way: str) -> None:
    """A method is reported if the object may be v1's."""
    script, models = _V1[way]
    (use,) = _uses(scan, script, models, "y = model.async_run(x, i)")
    assert use.endswith(":TS053")
