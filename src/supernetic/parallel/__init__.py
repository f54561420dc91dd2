"""Work in other processes of this machine: independent items (`workers`), or ranks of one training (`ranks`)."""
