"""One module per command of `thinkaloud`."""
