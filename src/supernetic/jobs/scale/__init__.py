"""`scale`: a base model searched jointly with the strategies that scale it; a family of models."""
