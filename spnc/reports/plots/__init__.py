"""Pictures drawn with matplotlib; one kind of picture, one file."""
