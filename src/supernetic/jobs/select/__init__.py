"""`select`: which model suits some data, from small subsets of it."""
