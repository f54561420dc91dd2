"""The laboratory: studies that reproduce papers, what searches cost there, and models that only a paper needs."""
