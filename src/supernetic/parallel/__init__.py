"""Work in other processes here: independent pieces (`spread`), or several that train together (`together`)."""
