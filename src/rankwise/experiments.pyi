from rankwise_papers.framework import *  # noqa: F403
