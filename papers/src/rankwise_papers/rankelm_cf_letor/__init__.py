"""The columns of RankELM's tables on CF-LETOR, a stand-in for TD2003 and TD2004."""
