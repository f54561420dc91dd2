"""The end of a search: networks trained beside their controls, tested once, exported."""
