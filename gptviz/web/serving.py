"""How the page is served, as the command line decides it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gptviz.web.gate import Hosts
from gptviz.web.line import Bounds


@dataclass(frozen=True)
class Serving:
    """Bounds of the line, names the server answers to, and what operators want to see."""

    bounds: Bounds = field(default_factory=Bounds)
    hosts: Hosts = field(default_factory=Hosts)
    metrics: bool = False
    access_log: bool = False
