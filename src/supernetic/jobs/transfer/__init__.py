"""`transfer`: fine-tune pretrained networks on other data."""
