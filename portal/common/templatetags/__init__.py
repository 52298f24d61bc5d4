"""Template tags and filters every page uses."""
