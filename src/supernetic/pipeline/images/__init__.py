"""The job `search` on images: check, plan, train, search, choose, compare, test, export; a report all the while."""
