"""The study job: a queue of trainings that studies share, what is measured on them, tables and a page."""
