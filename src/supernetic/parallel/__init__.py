"""Work in other processes of this machine: independent pieces (`spread`), or several that train together (`together`)."""
