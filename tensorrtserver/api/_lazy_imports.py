"""The modules of ``tritonclient_shim`` that the facade calls, each imported at its first use.

``import tensorrtserver.api`` stays cheap that way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonclient_shim.core.lazy_imports import LazyModule

if TYPE_CHECKING:
    from tritonclient_shim.core import errors as errors
    from tritonclient_shim.session import control as control
    from tritonclient_shim.session import infer_session as infer_session
    from tritonclient_shim.session import server as server
    from tritonclient_shim.session import shared_memory as shared_memory
    from tritonclient_shim.translate import arguments as arguments
    from tritonclient_shim.translate import endpoint as endpoint
    from tritonclient_shim.translate import headers as headers
    from tritonclient_shim.translate import request as request
    from tritonclient_shim.translate import strings as strings
else:
    errors = LazyModule("tritonclient_shim.core.errors")
    control = LazyModule("tritonclient_shim.session.control")
    infer_session = LazyModule("tritonclient_shim.session.infer_session")
    server = LazyModule("tritonclient_shim.session.server")
    shared_memory = LazyModule("tritonclient_shim.session.shared_memory")
    arguments = LazyModule("tritonclient_shim.translate.arguments")
    endpoint = LazyModule("tritonclient_shim.translate.endpoint")
    headers = LazyModule("tritonclient_shim.translate.headers")
    request = LazyModule("tritonclient_shim.translate.request")
    strings = LazyModule("tritonclient_shim.translate.strings")
