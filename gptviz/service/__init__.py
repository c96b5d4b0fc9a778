"""Between the lessons and the decoder: the loaded models, one worker, one cache of runs, limits."""

from gptviz.service.loading import Options
from gptviz.service.runs import Keep
from gptviz.service.service import Service

__all__ = ["Keep", "Options", "Service"]
