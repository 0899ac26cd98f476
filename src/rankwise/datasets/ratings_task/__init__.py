"""Ranking tasks from ratings of items by users, with every user as a query."""
