"""Fault × moment × protocol → what a call comes to. Every cell is tried in each calling style.

``works``   the right answer
``fails``   at once: the connection is lost, or what came on it makes no sense
``limit``   when a time limit of the settings is reached; of streams, when probes go unanswered
``refused`` with what the server said
``either``  the right answer or a failure, as the one or the other is quicker; an idle connection
            that ended shows older versions of grpcio only at the next call
``.``       not tried: TCP has checksums, HTTP and HTTP/2 have none, so what lies within data
            is the answer to whoever reads it; or the fault has no such moment
"""

from __future__ import annotations

from typing import Iterator, NamedTuple

from tests.reliability.fault_proxy import MOMENTS

TABLE = """
http            connect headers body    unanswered answering idle
  delay         works   works   works   works      works     works
  trickle       works   works   works   works      works     works
  black hole    limit   limit   limit   limit      limit     limit
  reset         fails   fails   fails   fails      fails     works
  close         fails   fails   fails   fails      fails     works
  half-close    fails   fails   fails   fails      fails     works
  duplicate     .       .       .       works      .         works
  garbage       fails   either  .       fails      .         works
  too long      limit   limit   limit   limit      .         limit
  too short     fails   fails   fails   fails      .         fails

grpc            connect headers body    unanswered answering idle
  delay         works   works   works   works      works     works
  trickle       works   works   works   works      works     works
  black hole    limit   limit   limit   limit      limit     limit
  reset         fails   fails   fails   fails      fails     either
  close         fails   fails   fails   fails      fails     either
  half-close    fails   fails   fails   fails      fails     either
  duplicate     .       .       .       either     .         either
  garbage       fails   fails   .       fails      .         either
  too long      fails   fails   fails   fails      .         fails
  too short     limit   limit   limit   limit      .         limit
  GOAWAY        fails   either  either  either     either    either
  GOAWAY, later fails   works   works   works      works     either
  RST_STREAM    fails   fails   fails   fails      fails     either
  trailers only fails   refused refused refused    refused   either
  no window     .       .       .       .          .         either
stream          connect headers body    unanswered answering idle
  delay         works   works   works   works      works     works
  trickle       works   works   works   works      works     works
  black hole    limit   limit   limit   limit      limit     limit
  reset         fails   fails   fails   fails      fails     works
  close         fails   fails   fails   fails      fails     works
  half-close    fails   fails   fails   fails      fails     works
  duplicate     .       .       .       either     .         either
  garbage       fails   fails   .       fails      .         works
  too short     .       fails   fails   fails      .         fails
  GOAWAY        fails   either  either  either     either    works
  GOAWAY, later fails   works   works   works      works     works
  RST_STREAM    fails   fails   fails   fails      either    works
  trailers only fails   refused refused refused    either    works
"""

_COLUMNS = len(MOMENTS)


class Cell(NamedTuple):
    """A cell of the table."""

    protocol: str
    fault: str
    moment: str
    expected: str


def cells() -> Iterator[Cell]:
    """Yield the tested cells of the table."""
    protocol = ""
    for line in filter(None, TABLE.splitlines()):
        name, *expected = line.strip().rsplit(maxsplit=_COLUMNS)
        if not line.startswith(" "):
            assert expected == list(MOMENTS), line
            protocol = name
            continue
        for moment, outcome in zip(MOMENTS, expected):
            if outcome != ".":
                yield Cell(protocol, name, moment, outcome)
