"""Request ids of one process: what v1's server counted and v2's does not
(docs/v1-behaviour.md §4.5, §E.11).
"""

from __future__ import annotations

import itertools

#: The next request id: from 1, strictly increasing over all contexts and both protocols.
#: ``itertools.count`` is atomic under the GIL, so threads need no lock.
next_request_id = itertools.count(1).__next__
