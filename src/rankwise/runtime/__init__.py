"""Runtime support: threads, compilation, metadata routing, files written atomically, folders."""
