"""The jobs, one function each. The command line is a few lines over these, and so is `supernetic.<verb>` in Python."""
