"""Runtime support: threads, compilation, metadata routing and checks for finite results."""
