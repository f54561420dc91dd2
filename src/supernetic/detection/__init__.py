"""Object detection: annotated images, RetinaNet on a network from a blueprint, COCO's metrics, detectors as files."""
