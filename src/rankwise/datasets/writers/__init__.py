"""Writers: files complete or not at all."""
