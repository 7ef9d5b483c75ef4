"""The engines that can be set beside each other."""
