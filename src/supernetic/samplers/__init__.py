"""Which paths through a supernet are trained at a step: frozen dataclasses that nest.

    Sandwich(n=2, between=Attentive(k=3))(space, draw) -> Step

`step` has the nouns, `named` the samplers by name; one file per method.
"""
