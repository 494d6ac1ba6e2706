"""Included files, put into the text of the page that includes them."""
