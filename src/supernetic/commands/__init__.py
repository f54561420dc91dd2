"""Short commands: one file is one public function and one command. They take seconds and begin no run."""
