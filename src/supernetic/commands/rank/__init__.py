"""`rank`: does a score order architectures as the truth does?"""
