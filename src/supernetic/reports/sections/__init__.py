"""The sections of a run's page: one module gathers the values of one section, or of a few that belong together."""
