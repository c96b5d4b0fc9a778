"""Between the lessons and the decoder: the loaded models, one worker, a bounded cache of runs, limits."""

from gptviz.service.service import Service, Settings

__all__ = ["Service", "Settings"]
