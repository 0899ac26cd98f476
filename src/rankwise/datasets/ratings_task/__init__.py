"""From ratings of items by users to a ranking task: every user is a query."""
