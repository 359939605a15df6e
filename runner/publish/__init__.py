"""A sealed summary becomes pages and files for people."""
