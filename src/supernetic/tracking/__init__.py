"""Trackers that people use, fed from the files of a run: TensorBoard, Weights & Biases, MLflow, or one of your own."""

from .follow import Follower
from .named import TRACKERS, open_trackers, require_trackers
from .recorder import Recorder
from .tracker import Row, Track, Tracker

__all__ = ["TRACKERS", "Follower", "Recorder", "Row", "Track", "Tracker", "open_trackers", "require_trackers"]
