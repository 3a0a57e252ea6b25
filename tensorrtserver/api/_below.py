"""The modules that the facade calls: imported by the first call, not with the facade."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonclient_shim.lazy import LazyModule

if TYPE_CHECKING:
    from tritonclient_shim import (
        control as control,
    )
    from tritonclient_shim import (
        errors as errors,
    )
    from tritonclient_shim import (
        infer_session as infer_session,
    )
    from tritonclient_shim import (
        session as session,
    )
    from tritonclient_shim import (
        shm_control as shm_control,
    )
    from tritonclient_shim.translate import (
        arguments as arguments,
    )
    from tritonclient_shim.translate import (
        endpoint as endpoint,
    )
    from tritonclient_shim.translate import (
        headers as headers,
    )
    from tritonclient_shim.translate import (
        strings as strings,
    )
else:
    control = LazyModule("tritonclient_shim.control")
    errors = LazyModule("tritonclient_shim.errors")
    infer_session = LazyModule("tritonclient_shim.infer_session")
    session = LazyModule("tritonclient_shim.session")
    shm_control = LazyModule("tritonclient_shim.shm_control")
    arguments = LazyModule("tritonclient_shim.translate.arguments")
    endpoint = LazyModule("tritonclient_shim.translate.endpoint")
    headers = LazyModule("tritonclient_shim.translate.headers")
    strings = LazyModule("tritonclient_shim.translate.strings")
