"""The terminal user interface: widgets for Textual that draw turns. Needs the extra `tui`."""
