"""Networks as files that others can use: weights, description, ONNX and a page in words."""
