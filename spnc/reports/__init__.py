"""Pictures of models and runs: one kind of picture, one file. Only here is matplotlib imported."""
