"""From a trained supernet to finished networks, and a look at what its layers compute."""
