"""Code that several benchmark commands share: data, circuits, trainings, tables."""
