"""Builds a draft vocabulary: the token ids that MTP may draft, counted over the model's outputs."""
