"""One file a picture: a result in, a figure out."""
