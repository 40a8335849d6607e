"""Files that appear whole or not at all, and folders of tensors."""
