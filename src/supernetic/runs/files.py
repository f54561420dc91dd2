"""The name of every file of a run directory, stated once."""

from __future__ import annotations

# Every run
SETTINGS = "run.toml"  # the request, settings, seeds, the space's fingerprint, versions
TIMINGS = "timings.jsonl"  # how long each step took; may differ between two runs of the same settings
LOCK = ".lock"  # keeps a second process out
CODE = "code"  # directory: the Python files that the run needs
RESULT = "result.json"  # the result of a finished job, or of one network's training
REPORT = "report.html"  # the page about the run
TRACKING = "tracking.json"  # what was sent to trackers such as TensorBoard, and by what they know the run
INDEX = "index.html"  # beside runs, in the folder that holds them: the page over all of them

# A supernet, and every other training
METRICS = "metrics.jsonl"  # the loss and learning rate of a training, step by step
AUGMENT = "augment.json"  # how training images are changed, why, and a preview
SPLITS = "splits.json"  # which images train, validate and test
SUPERNET = "supernet.safetensors"  # the weights of the trained supernet
CHECKPOINTS = "checkpoints"  # directory: where a training goes on after an interruption
SNAPSHOTS = "snapshots"  # directory: weights from earlier in a training that are kept
TENSORBOARD = "tensorboard"  # directory: events of all trainings for TensorBoard
SCORES = "scores.jsonl"  # scores by a supernet, of architectures that were scored after the training

# A search
TRIALS = "trials.jsonl"  # one line per evaluated architecture, in the order asked
ENSEMBLE = "ensemble.json"  # scores of the reference networks of a rank ensemble, by proxy
LATENCY = "latency.jsonl"  # measured latencies of layers
SEARCH = "search.json"  # the front, the chosen architectures, how the search went on
TRAINED_NETWORKS = "trained.json"  # the records of `networks.json` after training, before the test split is used
FINISHED_NETWORKS = "finished.json"  # the same once the better ones were trained further; says which is recommended
DECISIONS = "decisions.jsonl"  # lengths of trainings that were settled on the way, by the clock; a resumed run obeys
QUANTISED = "quantised.json"  # the models that were quantised, and what they lose on validation images
INT8_NETWORKS = "int8"  # directory: the quantised models, `NAME.onnx`
CORRECT = "correct.json"  # which test images each network gets right
PREDICTIONS = "predictions.json"  # what each network says of every test image, and how sure it is
MISTAKES = "mistakes.json"  # small pictures of the test images that models get wrong most surely
NETWORKS = "networks.json"  # the chosen networks and their controls: costs, scores, accuracies
NETWORK_TRAININGS = "networks"  # directory: the training of each network, by its key
INHERITED_WEIGHTS = "inherited"  # directory: networks with the supernet's weights, `NAME.safetensors`
WEIGHTS = "weights.safetensors"  # in `networks/KEY`: the weights of a network that was trained on its own
TRUST = "trust.json"  # how far the ranking may be trusted, and the comparisons on test images
MODELS = "models"  # directory: the exported models, by name
EXPORTED = "exported.json"  # the names of the exported models

# A network that was trained further after its run was finished: a run of its own in `finishes/1`, `finishes/2`, ...
FINISHES = "finishes"  # directory
BEFORE = "before.json"  # the record of the network that it began with
FINISH = "finish.json"  # whether the new weights are kept, and the record of the network then

# A transfer
TARGETS = "targets.safetensors"  # what a teacher says of the training images, mixed with their labels
FEATURES = "features.safetensors"  # what the pretrained network makes of the training images
HEAD = "head.json"  # the new head's penalty, by held-out images
STARTS = "starts"  # directory: the pretrained network with its new head
TRANSFER = "transfer.json"  # which weights are handed over, and how they were trained
TRANSFER_TABLE = "transfer.csv"  # beside runs: several models on several data sets

# A model, in `models/NAME`
MODEL_WEIGHTS = "model.safetensors"
MODEL_ONNX = "model.onnx"
MODEL_INT8 = "model.int8.onnx"  # the same in 8-bit integers
MODEL_PROGRAM = "model.pt2"  # the same for torch.export, if it was asked for
MODEL_CONFIG = "config.json"  # what timm reads of it
MODEL_RECORD = "model.json"  # blueprint, classes, preprocessing, metrics
MODEL_CARD = "README.md"
MODEL_LABELS = "labels.txt"

# A scaling job
SCALE = "scale.json"  # strategies, fitted curves, sampling
CHAIN = "chain.jsonl"  # the states of the search, round by round

# `select`
SELECT = "select.json"  # everything that was found, for programs and for the page
RATES = "rates.json"  # the learning rate of each model
SUBSET_TRAININGS = "trainings"  # directory: one training per model, subset and seed; studies have one of that name too
IMAGE_SCORES = "images.npz"  # in `trainings/KEY`: scores of a training image by image
TRAININGS_CSV = "trainings.csv"  # every training
PROFILES_CSV = "profiles.csv"  # means and spreads at every size
AGREEMENT_CSV = "agreement.csv"  # the ranking at every size against the final one
DESCRIPTION_LENGTHS_CSV = "mdl.csv"  # description lengths

# A study
STUDY = "study.json"  # everything that was found, for programs and for the page
FIGURES = "figures"  # directory: the plots as SVG
MEASURED = "measured.jsonl"  # in the run of a training: what was measured of it
MEASURES_CSV = "measures.csv"  # every number, by variant and seed
SUMMARY_CSV = "summary.csv"  # means and spreads over seeds
CLAIMS_CSV = "claims.csv"  # the claims and their verdicts

# `detect`
BACKBONE = "backbone.safetensors"  # the backbone after it was shrunk, with its blueprint
DETECTOR_WEIGHTS = "detector.safetensors"  # the trained detector
VALIDATED = "validated.json"  # what it finds in validation images, in numbers; the score from which boxes are shown
DETECT = "detect.json"  # everything that was found, for programs and for the page
SHOWN_IMAGES = "shown.json"  # some test images with the boxes found in them, for the page
DETECTOR = "detector"  # directory: the detector for use elsewhere
DETECTOR_RECORD = "detector.json"  # in it: what it is built from, classes, metrics, checksums
