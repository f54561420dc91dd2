"""`detect`: a detector of objects on a backbone, trained on annotated images."""
