"""Which model suits some data, judged on small subsets of it: schedules, profiles, description lengths, curves.

Paper: Bornschein, Visin and Osindero, "Small Data, Big Decisions", arXiv 2009.12583. Nothing here trains.
"""
