"""Which model suits some data, from small subsets of it: ladders, profiles, description lengths, curves, decisions.

Paper: Bornschein, Visin and Osindero, "Small Data, Big Decisions", arXiv 2009.12583 (paper 000). Nothing here trains.
"""
