"""Decision trees over ordered classes: growing, and what is done with grown ones."""
