"""One file per picture: a result in, a figure out."""

from camilla.extras import needing

with needing("drawing pictures"):
    import matplotlib as matplotlib
