"""Support vector machines for ordered classes."""
