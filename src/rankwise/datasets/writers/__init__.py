"""Writers that replace files atomically."""
